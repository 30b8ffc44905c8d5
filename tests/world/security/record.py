"""Records with other words, and with the sum that their contents have."""


def resigned(head: bytes, data: bytes) -> bytes:
    body = head + b"\ndata\n" + data
    total = 0xCBF29CE484222325
    padded = body + b"\0" * (-len(body) % 8)
    for at in range(0, len(padded), 8):
        total = (total ^ int.from_bytes(padded[at : at + 8], "little")) * 0x100000001B3 % 2**64
    return body + f"sum {total:016x}\n".encode()


def parts(record: bytes) -> tuple[bytes, bytes]:
    head, data = record.split(b"\ndata\n", 1)
    return head, data[: data.rindex(b"sum ")]


def with_word(record: bytes, word: str, value: bytes) -> bytes:
    head, data = parts(record)
    lines = [line for line in head.split(b"\n") if not line.startswith(word.encode() + b" ")]
    return resigned(b"\n".join([*lines[:2], word.encode() + b" " + value, *lines[2:]]), data)
