/* SPDX-License-Identifier: Apache-2.0 */
/* Certificates as files around the part that makes them.
 *
 * The part works on text in memory; paths, modes, and what exists already are handled here. Keys are wiped before their
 * memory is given back.
 */
#include "net/cert.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"

#define DAY ((int64_t)86400)
#define SKEW 300 /* seconds by which clocks may differ */
#define MAX_FILE ((size_t)1 << 20)

artel_status artel__cert_open(artel_context *ctx, artel__cert_maker *out)
{
    static const artel__part_request request = {
        "libartel-tls.so", ARTEL__CERT_PART_SYMBOL, ARTEL__CERT_PART_VERSION, "makes certificates", "libssl-dev",
    };
    artel__cert_maker maker = {.ctx = ctx};
    ARTEL_TRY(artel__part_open(ctx, &request, &maker.library));
    maker.part = maker.library.table;
    *out = maker;
    return ARTEL_OK;
}

void artel__cert_close(artel__cert_maker *maker)
{
    artel__part_close(&maker->library);
    maker->part = NULL;
}

bool artel__cert_is_name(const char *name)
{
    size_t length = 0;
    for (; name[length]; length++)
        if (!isalnum((unsigned char)name[length]) && !(length > 0 && strchr("-_", name[length]))) return false;
    return length > 0 && length < ARTEL__CERT_NAME;
}

/* -- files -- */

/* DIR/FILE or DIR/NAME/FILE. */
static const char *path_of(artel__arena *arena, const char *dir, const char *name, const char *file)
{
    return name ? artel__arena_printf(arena, "%s/%s/%s", dir, name, file)
                : artel__arena_printf(arena, "%s/%s", dir, file);
}

typedef struct file {
    char *text;
    size_t size;
} file;

static void release(const artel__cert_maker *maker, file *f)
{
    if (f->text) maker->part->wipe(f->text, f->size);
    artel__free(maker->ctx, f->text);
    f->text = NULL;
}

static artel_status read_text(const artel__cert_maker *maker, const char *path, file *out)
{
    return artel__read_file(maker->ctx, path, MAX_FILE, &out->text, &out->size);
}

static artel_status write_text(artel_context *ctx, const char *path, const char *text)
{
    return artel__write_public_file(ctx, path, text, strlen(text));
}

static artel_status write_secret(artel_context *ctx, const char *path, const char *text)
{
    return artel__write_private_file(ctx, path, text, strlen(text));
}

/* -- requests -- */

static artel_status check_name(artel_context *ctx, const char *kind, const char *name)
{
    if (artel__cert_is_name(name)) return ARTEL_OK;
    return artel__fail(ctx, ARTEL_ERROR_INVALID, name, "use letters, digits, - and _, at most 63, as in worker-0",
                       "this cannot be the name of a %s", kind);
}

static artel_status check_days(artel_context *ctx, int days)
{
    if (days >= 1 && days <= 36500) return ARTEL_OK;
    return artel__fail(ctx, ARTEL_ERROR_INVALID, ".days", "choose the days of validity",
                       "does not fit (found %d, expected 1 to 36500)", days);
}

static artel_status check_hosts(artel_context *ctx, const artel__cert_request *request)
{
    if (request->hosts > ARTEL__CERT_HOSTS - 1)
        return artel__fail(ctx, ARTEL_ERROR_INVALID, ".hosts", "name those that this task has",
                           "%d hosts are too many (at most %d)", request->hosts, ARTEL__CERT_HOSTS - 1);
    for (int i = 0; i < request->hosts; i++) {
        const char *host = request->host[i];
        bool fine = host[0] && strlen(host) < 254;
        for (const char *c = host; *c; c++) fine = fine && (isalnum((unsigned char)*c) || strchr("-._:", *c));
        if (!fine)
            return artel__fail(ctx, ARTEL_ERROR_INVALID, ".hosts", "name hosts or addresses, separated by commas",
                               "this is no host (found \"%.60s\")", host);
    }
    return ARTEL_OK;
}

static artel__cert_wish make_wish(const artel__cert_request *request, const char *job, const char *name)
{
    int64_t now = (int64_t)artel__wall_seconds();
    return (artel__cert_wish){
        .job = job,
        .name = name,
        .host = request->host,
        .hosts = request->hosts,
        .not_before = now - SKEW,
        .not_after = now + request->days * DAY,
        .kind = request->kind,
    };
}

/* -- the authority -- */

static artel_status init_authority(const artel__cert_maker *maker, artel__arena *arena, const char *dir,
                                   const artel__cert_request *request)
{
    const char *certificate = path_of(arena, dir, NULL, "ca.crt"), *key = path_of(arena, dir, NULL, "ca.key");
    artel__cert_pem *pem = artel__arena_alloc(arena, 1, sizeof *pem);
    artel__cert_why why;
    ARTEL_TRY(artel__arena_status(arena));
    ARTEL_TRY(check_name(maker->ctx, "job", request->job));
    ARTEL_TRY(check_days(maker->ctx, request->days));
    if (artel__file_exists(certificate))
        return artel__fail(
            maker->ctx, ARTEL_ERROR_INVALID, certificate,
            "issue certificates with it, or choose another folder: a new authority makes all it has issued worthless",
            "there is an authority already");
    ARTEL_TRY(artel__make_own_directory(maker->ctx, dir));
    const artel__cert_wish wish = make_wish(request, request->job, "");
    if (maker->part->make_authority(&wish, pem, &why) < 0)
        return artel__fail(maker->ctx, ARTEL_ERROR_RUN, dir, "check the installation of OpenSSL", "%s", why.text);
    artel_status status = write_secret(maker->ctx, key, pem->key);
    if (status == ARTEL_OK) status = write_text(maker->ctx, certificate, pem->certificate);
    maker->part->wipe(pem, sizeof *pem);
    return status;
}

artel_status artel__cert_init(const artel__cert_maker *maker, const char *dir, const artel__cert_request *request)
{
    artel__arena arena;
    artel__arena_init(&arena, maker->ctx);
    artel_status status = init_authority(maker, &arena, dir, request);
    artel__arena_fini(&arena);
    return status;
}

/* -- certificates -- */

/* The authority's files, and its job's name. */
typedef struct authority {
    file certificate, key;
    char job[ARTEL__CERT_NAME];
} authority;

static void release_authority(const artel__cert_maker *maker, authority *a)
{
    release(maker, &a->certificate);
    release(maker, &a->key);
}

static artel_status read_authority(const artel__cert_maker *maker, artel__arena *arena, const char *dir, authority *out)
{
    const char *certificate = path_of(arena, dir, NULL, "ca.crt"), *key = path_of(arena, dir, NULL, "ca.key");
    artel__cert_info *info = artel__arena_alloc(arena, 1, sizeof *info);
    artel__cert_why why;
    ARTEL_TRY(artel__arena_status(arena));
    if (!artel__file_exists(certificate))
        return artel__fail(maker->ctx, ARTEL_ERROR_NOT_FOUND, dir, "make an authority with: artel cert init DIR",
                           "there is no ca.crt");
    ARTEL_TRY(read_text(maker, certificate, &out->certificate));
    ARTEL_TRY(read_text(maker, key, &out->key));
    if (maker->part->read(out->certificate.text, info, &why) < 0)
        return artel__fail(maker->ctx, ARTEL_ERROR_CORRUPT, certificate, "take it from a backup", "%s", why.text);
    snprintf(out->job, sizeof out->job, "%s", info->job[0] ? info->job : "cluster");
    return ARTEL_OK;
}

/* Writes a folder beside DIR/NAME and puts it into its place. */
static artel_status place_folder(const artel__cert_maker *maker, artel__arena *arena, const char *dir,
                                 const artel__cert_request *request, const artel__cert_pem *pem, const char *ca)
{
    artel_context *ctx = maker->ctx;
    const char *final = path_of(arena, dir, NULL, request->name);
    const char *fresh = artel__arena_printf(arena, "%s/.%s.%ld.tmp", dir, request->name, (long)getpid());
    const char *key = path_of(arena, fresh, NULL, "tls.key"), *certificate = path_of(arena, fresh, NULL, "tls.crt");
    const char *copy = path_of(arena, fresh, NULL, "ca.crt");
    ARTEL_TRY(artel__arena_status(arena));
    artel_status status = artel__remove_tree(ctx, fresh);
    if (status == ARTEL_OK) status = artel__make_own_directory(ctx, fresh);
    if (status == ARTEL_OK) status = write_secret(ctx, key, pem->key);
    if (status == ARTEL_OK) status = write_text(ctx, certificate, pem->certificate);
    if (status == ARTEL_OK) status = write_text(ctx, copy, ca);
    if (status == ARTEL_OK) {
        bool exists = artel__file_exists(final);
        int result = exists ? renameat2(AT_FDCWD, fresh, AT_FDCWD, final, RENAME_EXCHANGE) : rename(fresh, final);
        if (result != 0) status = artel__fail_errno(ctx, final, "replace");
        if (result == 0 && !exists) return ARTEL_OK;
    }
    artel_status removed = artel__remove_tree(ctx, fresh);
    return status == ARTEL_OK ? removed : status;
}

static artel_status issue_folder(const artel__cert_maker *maker, artel__arena *arena, const char *dir,
                                 const artel__cert_request *request, const authority *a)
{
    artel__cert_pem *pem = artel__arena_alloc(arena, 1, sizeof *pem);
    artel__cert_why why;
    ARTEL_TRY(artel__arena_status(arena));
    const artel__cert_wish wish = make_wish(request, a->job, request->name);
    if (maker->part->issue(&wish, a->certificate.text, a->key.text, pem, &why) < 0)
        return artel__fail(maker->ctx, ARTEL_ERROR_INVALID, dir, "make a new authority with: artel cert init DIR",
                           "no certificate for %s: %s", request->name, why.text);
    artel_status status = place_folder(maker, arena, dir, request, pem, a->certificate.text);
    maker->part->wipe(pem, sizeof *pem);
    return status;
}

static artel_status issue_checked(const artel__cert_maker *maker, artel__arena *arena, const char *dir,
                                  const artel__cert_request *request)
{
    artel_context *ctx = maker->ctx;
    authority a = {.job = ""};
    ARTEL_TRY(check_name(ctx, "task", request->name));
    ARTEL_TRY(check_days(ctx, request->days));
    ARTEL_TRY(check_hosts(ctx, request));
    const char *folder = path_of(arena, dir, NULL, request->name);
    ARTEL_TRY(artel__arena_status(arena));
    if (artel__file_exists(folder) && !request->force)
        return artel__fail(ctx, ARTEL_ERROR_INVALID, folder,
                           "renew it with: artel cert renew DIR NAME, or replace it: artel cert issue DIR NAME --force",
                           "it exists already");
    artel_status status = read_authority(maker, arena, dir, &a);
    if (status == ARTEL_OK) status = issue_folder(maker, arena, dir, request, &a);
    release_authority(maker, &a);
    return status;
}

artel_status artel__cert_issue(const artel__cert_maker *maker, const char *dir, const artel__cert_request *request)
{
    artel__arena arena;
    artel__arena_init(&arena, maker->ctx);
    artel_status status = issue_checked(maker, &arena, dir, request);
    artel__arena_fini(&arena);
    return status;
}

/* -- renewing -- */

static artel_status renew_with(const artel__cert_maker *maker, artel__arena *arena, const char *path,
                               artel__cert_request *request, const authority *a, const char *key)
{
    artel__cert_info *info = artel__arena_alloc(arena, 1, sizeof *info);
    artel__cert_pem *pem = artel__arena_alloc(arena, 1, sizeof *pem);
    const char **hosts = artel__arena_alloc(arena, ARTEL__CERT_HOSTS, sizeof *hosts);
    artel__cert_why why;
    ARTEL_TRY(artel__arena_status(arena));
    ARTEL_TRY(artel__cert_read(maker, path, info));
    for (int i = 0; i < info->hosts; i++) hosts[i] = info->host[i];
    request->host = hosts;
    request->hosts = info->hosts;
    artel__cert_wish wish = make_wish(request, a->job, request->name);
    wish.key = key;
    if (maker->part->issue(&wish, a->certificate.text, a->key.text, pem, &why) < 0)
        return artel__fail(maker->ctx, ARTEL_ERROR_INVALID, path,
                           "issue a new one with: artel cert issue DIR NAME --force", "%s", why.text);
    artel_status status = write_text(maker->ctx, path, pem->certificate);
    maker->part->wipe(pem, sizeof *pem);
    return status;
}

artel_status artel__cert_renew(const artel__cert_maker *maker, const char *dir, const char *name, int days)
{
    artel__cert_request request = {.name = name, .days = days};
    artel__arena arena;
    authority a = {.job = ""};
    file key = {NULL, 0};
    ARTEL_TRY(check_name(maker->ctx, "task", name));
    ARTEL_TRY(check_days(maker->ctx, days));
    artel__arena_init(&arena, maker->ctx);
    const char *certificate = path_of(&arena, dir, name, "tls.crt"), *secret = path_of(&arena, dir, name, "tls.key");
    const char *copy = path_of(&arena, dir, name, "ca.crt");
    artel_status status = artel__arena_status(&arena);
    if (status == ARTEL_OK) status = read_authority(maker, &arena, dir, &a);
    if (status == ARTEL_OK) status = read_text(maker, secret, &key);
    if (status == ARTEL_OK) status = renew_with(maker, &arena, certificate, &request, &a, key.text);
    if (status == ARTEL_OK) status = write_text(maker->ctx, copy, a.certificate.text);
    release(maker, &key);
    release_authority(maker, &a);
    artel__arena_fini(&arena);
    return status;
}

/* -- reading and verifying -- */

artel_status artel__cert_read(const artel__cert_maker *maker, const char *path, artel__cert_info *out)
{
    file text = {NULL, 0};
    artel__cert_why why;
    ARTEL_TRY(read_text(maker, path, &text));
    artel_status status = ARTEL_OK;
    if (maker->part->read(text.text, out, &why) < 0)
        status = artel__fail(maker->ctx, ARTEL_ERROR_CORRUPT, path,
                             "name a certificate in PEM form, as artel cert writes it", "%s", why.text);
    release(maker, &text);
    return status;
}

/* Certificates of other tools have no URI of ours, DNS names only. */
static bool names(const artel__cert_info *info, const char *wanted)
{
    if (!wanted) return false;
    bool found = strcmp(info->name, wanted) == 0;
    for (int i = 0; i < info->hosts; i++) found = found || strcmp(info->host[i], wanted) == 0;
    return found;
}

static artel_status check_owner(const artel__cert_maker *maker, const artel__tls_files *files, artel__cert_owner owner)
{
    artel__cert_info *info = NULL;
    void *block;
    ARTEL_TRY(artel__alloc(maker->ctx, sizeof *info, files->certificate, &block));
    info = block;
    artel_status status = artel__cert_read(maker, files->certificate, info);
    const char *found = info->name[0] ? info->name : info->hosts ? info->host[0] : "no task's name";
    if (status == ARTEL_OK && owner.name && !names(info, owner.name) && !names(info, owner.host))
        status = artel__fail(maker->ctx, ARTEL_ERROR_INVALID, files->certificate, "give each task its own certificate",
                             "it is the certificate of another task (found %s, expected %s%s%s)", found, owner.name,
                             owner.host ? " or " : "", owner.host ? owner.host : "");
    artel__free(maker->ctx, block);
    return status;
}

/* Whoever replaces the authority's certificate admits whom he likes. */
static void warn_of_writers(artel_context *ctx, const char *path)
{
    if (!artel__may_trust(path, NULL))
        artel__log(ctx, ARTEL_LOG_WARNING,
                   "%s: others can replace it (it or its folder is not this user's alone); make them 0755 or less",
                   path);
}

static void warn_of_readers(artel_context *ctx, const char *path)
{
    struct stat about;
    if (stat(path, &about) == 0 && (about.st_mode & 077))
        artel__log(ctx, ARTEL_LOG_WARNING, "%s: others can read this key (mode %04o); make it 0600", path,
                   (unsigned)(about.st_mode & 0777));
}

artel_status artel__cert_verify(const artel__cert_maker *maker, const artel__tls_files *files, artel__cert_owner owner,
                                int64_t when)
{
    file certificate = {NULL, 0}, key = {NULL, 0}, ca = {NULL, 0};
    artel__cert_why why;
    artel_status status = read_text(maker, files->certificate, &certificate);
    if (status == ARTEL_OK) status = read_text(maker, files->key, &key);
    if (status == ARTEL_OK) status = read_text(maker, files->authority, &ca);
    if (status == ARTEL_OK && maker->part->verify(certificate.text, key.text, ca.text, when, &why) < 0)
        status =
            artel__fail(maker->ctx, ARTEL_ERROR_INVALID, files->certificate,
                        "renew it with: artel cert renew DIR NAME, or issue another", "it does not hold: %s", why.text);
    if (status == ARTEL_OK) status = check_owner(maker, files, owner);
    if (status == ARTEL_OK) warn_of_readers(maker->ctx, files->key);
    if (status == ARTEL_OK) warn_of_writers(maker->ctx, files->authority);
    release(maker, &certificate);
    release(maker, &key);
    release(maker, &ca);
    return status;
}

artel_status artel__cert_locate(artel__arena *arena, const char *dir, const char *name, artel__tls_files *out)
{
    const char *below = NULL, *certificate = path_of(arena, dir, NULL, "tls.crt");
    ARTEL_TRY(artel__arena_status(arena));
    if (!artel__file_exists(certificate) && name) {
        below = name;
        certificate = path_of(arena, dir, name, "tls.crt");
        ARTEL_TRY(artel__arena_status(arena));
    }
    if (!artel__file_exists(certificate))
        return artel__fail(arena->ctx, ARTEL_ERROR_NOT_FOUND, dir,
                           "name the folder that artel cert issue made for this task", "there is no tls.crt%s%s",
                           name ? ", and none in its folder " : "", name ? name : "");
    *out = (artel__tls_files){path_of(arena, dir, below, "ca.crt"), certificate, path_of(arena, dir, below, "tls.key")};
    return artel__arena_status(arena);
}
