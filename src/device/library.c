/* SPDX-License-Identifier: Apache-2.0 */
/* What is wrong with the file of a plug-in, before it is loaded: the loader's words for a file of another processor
 * are those for one that is missing, and a file that was cut off ends the process that reads behind its end. What this
 * machine takes is what the program that runs is. */
#include <elf.h>
#include <stdio.h>
#include <string.h>

#include "device/pjrt.h"

static bool read_head(FILE *file, Elf64_Ehdr *out)
{
    return fread(out, sizeof *out, 1, file) == 1 && memcmp(out->e_ident, ELFMAG, SELFMAG) == 0;
}

/* True, too, where nobody knows. */
static bool is_of_this_machine(const Elf64_Ehdr *head)
{
    Elf64_Ehdr own;
    FILE *file = fopen("/proc/self/exe", "rbe");
    bool known = file && read_head(file, &own);
    if (file) fclose(file);
    return !known || (memcmp(head->e_ident + EI_CLASS, own.e_ident + EI_CLASS, 2) == 0 && /* and the order of bytes */
                      head->e_machine == own.e_machine);
}

/* Where the last part ends that is loaded. */
static uint64_t end_of_parts(FILE *file, const Elf64_Ehdr *head)
{
    uint64_t end = head->e_phoff + (uint64_t)head->e_phnum * sizeof(Elf64_Phdr);
    for (int i = 0; i < head->e_phnum; i++) {
        Elf64_Phdr part;
        if (fseek(file, (long)head->e_phoff + i * (long)sizeof part, SEEK_SET) != 0 ||
            fread(&part, sizeof part, 1, file) != 1)
            return end;
        if (part.p_type == PT_LOAD && part.p_offset + part.p_filesz > end) end = part.p_offset + part.p_filesz;
    }
    return end;
}

/* NULL: nothing that is seen here. */
static const char *judge(FILE *file)
{
    Elf64_Ehdr head;
    if (!read_head(file, &head)) return NULL;
    if (!is_of_this_machine(&head)) return "its file is for another kind of processor";
    if (head.e_ident[EI_CLASS] != ELFCLASS64) return NULL;
    uint64_t wanted = end_of_parts(file, &head);
    long there = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    return there >= 0 && (uint64_t)there < wanted ? "its file is cut off" : NULL;
}

const char *artel__library_fault(const char *path)
{
    FILE *file = fopen(path, "rbe");
    const char *why = file ? judge(file) : NULL;
    if (file) fclose(file);
    return why;
}
