/**
 * Decompresses LZ4 frames, as Kafka producers write them.
 * https://github.com/lz4/lz4/blob/dev/doc/lz4_Frame_format.md and lz4_Block_format.md
 *
 * Checksums are not verified: the broker has checked the whole batch (CRC-32C) when it was produced.
 */

const MAGIC = 0x184d2204
const SKIPPABLE = 0x184d2a50
const UNCOMPRESSED = 0x80000000
const MIN_MATCH = 4

/**
 * @param {Buffer} source one or more frames
 * @param {number} limit bytes; more output is an error
 * @returns {Buffer}
 * @throws {Error} when it is corrupt, uses a dictionary, or is larger than the limit
 */
export function decompressLz4 (source, limit) {
  const output = new Output(limit, source.length * 4)
  let at = 0
  while (at < source.length) {
    const magic = readUInt32(source, at)
    if (magic === MAGIC) at = readFrame(source, at + 4, output)
    else if ((magic & 0xfffffff0) >>> 0 === SKIPPABLE) at += 8 + readUInt32(source, at + 4)
    else throw new Error('lz4: no frame begins where one should')
  }
  if (at > source.length || source.length === 0) throw new Error('lz4: it ends too early')
  return output.take()
}

/** Bytes that grow as needed, up to a limit. */
class Output {
  length = 0

  /** @param {number} limit @param {number} expected */
  constructor (limit, expected) {
    this.limit = limit
    this.bytes = Buffer.allocUnsafe(Math.min(limit, expected))
  }

  /** @param {number} more bytes that will be appended */
  reserve (more) {
    const needed = this.length + more
    if (needed <= this.bytes.length) return
    if (needed > this.limit) throw new Error(`lz4: it decompresses to more than ${this.limit} bytes`)
    const larger = Buffer.allocUnsafe(Math.min(this.limit, Math.max(needed, this.bytes.length * 2)))
    this.bytes.copy(larger, 0, 0, this.length)
    this.bytes = larger
  }

  take () { return this.bytes.subarray(0, this.length) }
}

/**
 * @param {Buffer} source
 * @param {number} at after the magic number
 * @param {Output} output
 * @returns {number} where the frame ends
 */
function readFrame (source, at, output) {
  const flags = source[at]
  if (flags >>> 6 !== 1) throw new Error('lz4: unknown version of the frame format')
  if (flags & 0x01) throw new Error('lz4: it needs a dictionary')
  const independent = (flags & 0x20) !== 0
  const blockChecksum = flags & 0x10 ? 4 : 0
  const contentSize = flags & 0x08 ? 8 : 0
  const contentChecksum = flags & 0x04 ? 4 : 0
  at += 3 + contentSize
  const frameStart = output.length
  for (;;) {
    const header = readUInt32(source, at)
    at += 4
    if (header === 0) return at + contentChecksum
    const size = (header & ~UNCOMPRESSED) >>> 0
    const end = at + size
    if (end > source.length) throw new Error('lz4: it ends too early')
    if (header >= UNCOMPRESSED) {
      output.reserve(size)
      source.copy(output.bytes, output.length, at, end)
      output.length += size
    } else {
      readBlock(source, at, end, output, independent ? output.length : frameStart)
    }
    at = end + blockChecksum
  }
}

/**
 * A block is a list of sequences: some literal bytes, then a copy of bytes that were written before.
 * @param {Buffer} source
 * @param {number} at
 * @param {number} end
 * @param {Output} output
 * @param {number} start where the bytes that may be copied begin
 */
function readBlock (source, at, end, output, start) {
  let to = output.length
  while (at < end) {
    const token = source[at++]
    let literals = token >>> 4
    if (literals === 15) {
      let more
      do { more = source[at++]; literals += more } while (more === 255)
    }
    if (!(at + literals <= end)) throw new Error('lz4: a block is corrupt')
    output.length = to
    output.reserve(literals)
    to = append(source, at, output.bytes, to, literals)
    at += literals
    if (at === end) break // the last sequence has no copy

    const distance = source[at] | source[at + 1] << 8
    at += 2
    let length = token & 15
    if (length === 15) {
      let more
      do { more = source[at++]; length += more } while (more === 255)
    }
    length += MIN_MATCH
    if (!(at < end) || distance === 0 || distance > to - start) throw new Error('lz4: a block is corrupt')
    output.length = to
    output.reserve(length)
    to = repeat(output.bytes, to, distance, length)
  }
  output.length = to
}

/**
 * @param {Buffer} source
 * @param {number} from
 * @param {Buffer} target
 * @param {number} to
 * @param {number} length
 * @returns {number} end of the output in the target
 */
export function append (source, from, target, to, length) {
  const end = to + length
  // a call costs more than a few bytes copied here
  if (length > 24) target.set(source.subarray(from, from + length), to)
  else while (to < end) target[to++] = source[from++]
  return end
}

/**
 * Copies bytes that were written `distance` before; the ranges may overlap, which repeats a pattern.
 * @param {Buffer} target
 * @param {number} to
 * @param {number} distance
 * @param {number} length
 * @returns {number} end of the output in the target
 */
export function repeat (target, to, distance, length) {
  const end = to + length
  let from = to - distance
  if (length > 32 && distance >= length) target.copyWithin(to, from, from + length)
  else if (distance === 1 && length > 32) target.fill(target[from], to, end)
  else while (to < end) target[to++] = target[from++]
  return end
}

/** @param {Buffer} source @param {number} at */
function readUInt32 (source, at) {
  if (at + 4 > source.length) throw new Error('lz4: it ends too early')
  return source.readUInt32LE(at)
}
