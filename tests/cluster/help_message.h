/* SPDX-License-Identifier: Apache-2.0 */
/* Control messages with all fields set, for the tests of their bytes. */
#ifndef HELP_MESSAGE_H
#define HELP_MESSAGE_H

#include "cluster/message.h"

enum {
    HELP_MESSAGES = 24,
    HELP_MEMBERS = 5
};

/* Message number `variant`; its members are put into `member`. */
artel__message help_message(uint32_t variant, artel__member member[HELP_MEMBERS]);
bool help_message_same(const artel__message *a, const artel__message *b);

#endif
