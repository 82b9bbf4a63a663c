# SPDX-License-Identifier: Apache-2.0
"""Control messages against Google's own reader and writer, by the schema in src/cluster/message.proto: what message.c writes is
read, field by field, and written again byte for byte by the other side is read back by message.c to the same message."""
import os
import re
import subprocess
import sys

try:
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
except ImportError:
    sys.exit(77)

PROGRAM = os.path.join(os.environ["ARTEL_BUILD"], "tests/cluster/prog_message")
SCHEMA = os.path.join(os.environ["ARTEL_SOURCE"], "src/cluster/message.proto")


def load():
    """The class Control, from the schema's text (the subset of the language that it uses)."""
    text = re.sub(r"//.*", "", open(SCHEMA).read())
    file = descriptor_pb2.FileDescriptorProto(name="message.proto", package="artel.cluster", syntax="proto3")
    kinds = descriptor_pb2.FieldDescriptorProto
    for name, body in re.findall(r"message (\w+) \{(.*?)\}", text, re.S):
        message = file.message_type.add(name=name)
        for repeated, kind, field, number in re.findall(r"(repeated )?(\w+) (\w+) = (\d+);", body):
            made = message.field.add(name=field, number=int(number))
            made.label = kinds.LABEL_REPEATED if repeated else kinds.LABEL_OPTIONAL
            if kind[0].isupper():
                made.type, made.type_name = kinds.TYPE_MESSAGE, ".artel.cluster." + kind
            else:
                made.type = getattr(kinds, "TYPE_" + kind.upper())
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("artel.cluster.Control"))


def main():
    control = load()
    lines = subprocess.run([PROGRAM], check=True, capture_output=True, text=True).stdout.split()
    assert len(lines) == 24, len(lines)
    again, fields = [], set()
    for line in lines:
        message = control.FromString(bytes.fromhex(line))
        fields |= {field.number for field, _ in message.ListFields()}
        again.append(message.SerializeToString().hex())
    assert fields == set(range(1, 41)), sorted(set(range(1, 41)) - fields)
    answer = subprocess.run([PROGRAM, "read"], check=True, capture_output=True, text=True, input="\n".join(again) + "\n").stdout.split()
    assert answer == ["same"] * len(lines), answer
    print(len(lines), "messages")


if __name__ == "__main__":
    main()
