#!/usr/bin/env python3
"""mnist_data.py MODEL.onnx OUT [IMAGE.jpg...]: a model's weights and grey images as .npy files.

Writes OUT/w1.npy, b1.npy, w2.npy, b2.npy, w3.npy, b3.npy and OUT/image.npy [images, height, width].
Needs the standard library's smallest part only, so it reads the protobuf wire format and baseline
JPEG by itself.
"""
import math
import struct
import sys


def write_npy(path, shape, values):
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': %r, }" % (tuple(shape),)
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        file.write(struct.pack("<%df" % len(values), *values))


# ---- ONNX: protobuf messages ---------------------------------------------------------------------


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def fields(data):
    """(number, value) of each field of a message; what has a length comes as bytes."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        else:
            size = {1: 8, 5: 4}.get(kind)
            if size is None:
                size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        yield key >> 3, value


def tensors(model):
    """The initializers of a model by name: (shape, f32 values)."""
    graph = next(value for number, value in fields(model) if number == 7)
    for number, tensor in fields(graph):
        if number != 5:
            continue
        parts = list(fields(tensor))
        shape = [value for field, value in parts if field == 1]
        name = next(value for field, value in parts if field == 8).decode()
        if dict(parts).get(2) == 1:  # float, as packed floats (4) or raw bytes (9)
            raw = next(value for field, value in parts if field in (4, 9))
            yield name, (shape, struct.unpack("<%df" % (len(raw) // 4), raw))


# ---- baseline JPEG, one component ----------------------------------------------------------------



def diagonal(k):
    """The place of coefficient k: by diagonals, downwards and upwards in turn."""
    row, column = divmod(k, 8)
    return row + column, row if (row + column) % 2 else column


ZIGZAG = sorted(range(64), key=diagonal)
COSINE = [[math.cos((2 * x + 1) * u * math.pi / 16) / (2 if u else 2 * math.sqrt(2))
           for u in range(8)] for x in range(8)]


class Bits:
    def __init__(self, data):
        self.data = data.replace(b"\xff\x00", b"\xff")
        self.at = 0

    def take(self, count):
        value = 0
        for _ in range(count):
            byte = self.data[self.at >> 3] if self.at >> 3 < len(self.data) else 0
            value = value << 1 | byte >> (7 - self.at % 8) & 1
            self.at += 1
        return value

    def symbol(self, codes):
        code, length = 0, 0
        while (length, code) not in codes:
            code, length = code << 1 | self.take(1), length + 1
            if length > 16:
                raise ValueError("no such Huffman code")
        return codes[length, code]

    def signed(self, size):
        value = self.take(size)
        return value if size == 0 or value >> (size - 1) else value - (1 << size) + 1


def huffman(segment, tables):
    while segment:
        code, at, codes = 0, 17, {}
        for length in range(1, 17):
            for _ in range(segment[length]):
                codes[length, code] = segment[at]
                code, at = code + 1, at + 1
            code <<= 1
        tables[segment[0]] = codes
        segment = segment[at:]


def block(bits, previous, quantum, dc, ac):
    """The 64 dequantised coefficients of the next block."""
    coefficients = [0] * 64
    level = previous + bits.signed(bits.symbol(dc))
    coefficients[0] = level * quantum[0]
    k = 1
    while k < 64:
        run, size = divmod(bits.symbol(ac), 16)
        if size == 0 and run < 15:
            break
        k += run
        if size:
            coefficients[ZIGZAG[k]] = bits.signed(size) * quantum[k]
        k += 1
    return level, coefficients


def pixels(c):
    """The inverse cosine transform of a block, clamped to a byte."""
    rows = [[sum(COSINE[x][u] * c[8 * v + u] for u in range(8)) for x in range(8)]
            for v in range(8)]
    return [[min(255, max(0, round(128 + sum(COSINE[y][v] * rows[v][x] for v in range(8)))))
             for x in range(8)] for y in range(8)]


def read_jpeg(data):
    """(height, width, pixels by row) of a baseline JPEG with one component."""
    quantum, tables, at = [], {}, 2
    height = width = 0
    while True:
        marker, size = data[at + 1], struct.unpack(">H", data[at + 2:at + 4])[0]
        segment = data[at + 4:at + 2 + size]
        at += 2 + size
        if marker == 0xDB:
            quantum = segment[1:65]
        elif marker == 0xC4:
            huffman(segment, tables)
        elif marker == 0xC0:
            height, width, components = struct.unpack(">HHB", segment[1:6])
            if components != 1:
                raise ValueError("the image is not grey")
        elif marker == 0xDA:
            break
        elif 0xC1 <= marker <= 0xCF:
            raise ValueError("the image is not baseline JPEG")
    bits, level = Bits(data[at:]), 0
    image = [0.0] * (height * width)
    for top in range(0, height, 8):
        for left in range(0, width, 8):
            level, coefficients = block(bits, level, quantum, tables[0x00], tables[0x10])
            for y, row in enumerate(pixels(coefficients)):
                for x, value in enumerate(row):
                    if top + y < height and left + x < width:
                        image[(top + y) * width + left + x] = float(value)
    return height, width, image


def main(model, out, *images):
    names = {"Parameter5": "w1", "23": "b1", "Parameter87": "w2", "24": "b2",
             "Parameter193_reshape1": "w3", "Parameter194": "b3"}
    shapes = {"w1": [8, 5, 5], "b3": [10]}  # the program has no dims of extent 1
    with open(model, "rb") as file:
        for name, (shape, values) in tensors(file.read()):
            if name in names:
                short = names[name]
                write_npy("%s/%s.npy" % (out, short), shapes.get(short, shape), values)
    all_pixels, height, width = [], 0, 0
    for image in images:
        with open(image, "rb") as file:
            height, width, values = read_jpeg(file.read())
        all_pixels += values
    if images:
        write_npy(out + "/image.npy", [len(images), height, width], all_pixels)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
