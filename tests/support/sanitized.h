/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a sanitizer watches memory or threads: it looks at what code does, not at what comes out, and takes minutes
 * for what the plain build tries whole, so that it gets a sample of many like cases. */
#ifndef TESTS_SUPPORT_SANITIZED_H
#define TESTS_SUPPORT_SANITIZED_H

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SUPPORT_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SUPPORT_SANITIZED 1
#endif
#endif
#ifndef SUPPORT_SANITIZED
#define SUPPORT_SANITIZED 0
#endif

#endif
