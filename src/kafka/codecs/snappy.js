import { append, repeat } from './lz4.js'

/**
 * Decompresses Snappy, raw (as librdkafka and Go clients write it) or in the block framing of xerial's snappy-java
 * (Java clients). https://github.com/google/snappy/blob/main/format_description.txt
 */

const XERIAL_MAGIC = Buffer.from('82534e4150505900', 'hex') // 0x82 SNAPPY 0x00
const XERIAL_HEADER = 16 // the magic, a version, a compatible version

/**
 * @param {Buffer} source
 * @param {number} limit bytes; more output is an error
 * @returns {Buffer}
 * @throws {Error} when it is corrupt or larger than the limit
 */
export function decompressSnappy (source, limit) {
  const blocks = isXerial(source) ? xerialBlocks(source) : [source]
  const lengths = blocks.map(readLength)
  const total = lengths.reduce((sum, { value }) => sum + value, 0)
  if (total > limit) throw new Error(`snappy: it decompresses to more than ${limit} bytes`)
  const target = Buffer.allocUnsafe(total)
  let to = 0
  blocks.forEach((block, index) => {
    to = readBlock(block, lengths[index].size, target, to, to + lengths[index].value)
  })
  return target
}

/** @param {Buffer} source */
const isXerial = (source) =>
  source.length >= XERIAL_HEADER && source.subarray(0, XERIAL_MAGIC.length).equals(XERIAL_MAGIC)

/** @param {Buffer} source */
function xerialBlocks (source) {
  /** @type {Buffer[]} */
  const blocks = []
  let at = XERIAL_HEADER
  while (at < source.length) {
    // a continued stream repeats its header
    if (isXerial(source.subarray(at, at + XERIAL_HEADER))) {
      at += XERIAL_HEADER
      continue
    }
    const size = at + 4 <= source.length ? source.readUInt32BE(at) : Infinity
    at += 4
    if (at + size > source.length) throw new Error('snappy: it ends too early')
    blocks.push(source.subarray(at, at + size))
    at += size
  }
  return blocks
}

/**
 * @param {Buffer} block
 * @returns {{ value: number, size: number }} its decompressed length, and the size of this length field
 */
function readLength (block) {
  let value = 0
  for (let size = 0; size < 5 && size < block.length; size++) {
    value += (block[size] & 0x7f) * 2 ** (7 * size)
    if (block[size] < 0x80) return { value, size: size + 1 }
  }
  throw new Error('snappy: a block has no length')
}

/**
 * @param {Buffer} block
 * @param {number} at after its length
 * @param {Buffer} target
 * @param {number} start where it begins in the target
 * @param {number} end where it must end
 * @returns {number} end
 */
function readBlock (block, at, target, start, end) {
  let to = start
  while (at < block.length) {
    const tag = block[at++]
    let length
    let distance
    if ((tag & 3) === 0) { // literal bytes
      length = tag >>> 2
      if (length >= 60) {
        const size = length - 59
        if (at + size > block.length) throw new Error('snappy: a block is corrupt')
        length = block.readUIntLE(at, size)
        at += size
      }
      length++
      if (at + length > block.length || to + length > end) throw new Error('snappy: a block is corrupt')
      to = append(block, at, target, to, length)
      at += length
      continue
    }
    if ((tag & 3) === 1) {
      length = 4 + (tag >>> 2 & 7)
      distance = tag >>> 5 << 8 | block[at]
      at += 1
    } else if ((tag & 3) === 2) {
      length = 1 + (tag >>> 2)
      distance = block[at] | block[at + 1] << 8
      at += 2
    } else {
      length = 1 + (tag >>> 2)
      distance = (block[at] | block[at + 1] << 8 | block[at + 2] << 16 | block[at + 3] << 24) >>> 0
      at += 4
    }
    if (at > block.length || distance === 0 || distance > to - start || to + length > end)
      throw new Error('snappy: a block is corrupt')
    to = repeat(target, to, distance, length)
  }
  if (to !== end) throw new Error('snappy: a block is shorter than it says')
  return end
}
