import { createHash } from 'node:crypto'
import * as nodeFs from 'node:fs/promises'
import { join } from 'node:path'
import { decodeFile, encodeFrame, encodeHeader, newHeader } from './frames.js'

/** @typedef {import('./frames.js').Frame} Frame */

/** The directory with one file for each document. */
export class Store {
  #directory
  #fs

  /** @param {string} directory @param {Pick<typeof nodeFs, 'open' | 'mkdir' | 'rename' | 'rm' | 'copyFile'>} [fs] */
  constructor (directory, fs = nodeFs) {
    this.#directory = directory
    this.#fs = fs
  }

  start () { return this.#fs.mkdir(this.#directory, { recursive: true, mode: 0o700 }) }

  /**
   * @param {string} guid
   * @returns {Promise<{ file: DocumentFile, frames: Frame[], damaged: boolean }>} without frames: it is not stored yet
   */
  async open (guid) {
    // a guid may contain characters that are not allowed in file names
    const path = join(this.#directory, `${createHash('sha256').update(guid).digest('hex').slice(0, 40)}.yjs`)
    const parts = { directory: this.#directory, path, guid, fs: this.#fs }
    let content
    try {
      content = await this.#readSynced(path)
    } catch (error) {
      if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'ENOENT') throw error
      return { file: new DocumentFile(parts), frames: [], damaged: false }
    }
    try {
      const { header, frames, base, length, damaged } = decodeFile(content)
      if (damaged) await this.#fs.copyFile(path, `${path}.damaged`)
      const found = { header, base, length, isTorn: length < content.length }
      return { file: new DocumentFile(parts, found), frames, damaged }
    } catch (error) {
      throw new Error(`${path} cannot be read: ${/** @type {Error} */ (error).message}`, { cause: error })
    }
  }

  /**
   * A process that was killed may have written what the disk does not have yet: it counts as stored from here on.
   * @param {string} path @returns {Promise<Buffer>}
   */
  async #readSynced (path) {
    const handle = await this.#fs.open(path, 'r+')
    try {
      await handle.datasync()
      return await handle.readFile()
    } finally {
      await handle.close()
    }
  }
}

/** One call at a time. */
class DocumentFile {
  #parts
  #header
  /** Whole and confirmed, bytes. */
  #length
  /** Whether bytes of a failed write may follow. */
  #isTorn
  /** Length of the last snapshot, bytes. */
  #base

  /**
   * @param {{ directory: string, path: string, guid: string, fs: Pick<typeof nodeFs, 'open' | 'rename' | 'rm'> }} parts
   * @param {{ header: import('./frames.js').Header, base: number, length: number, isTorn: boolean } | null} [found]
   */
  constructor (parts, found = null) {
    this.#parts = parts
    this.#header = found?.header ?? null
    this.#length = found?.length ?? 0
    this.#isTorn = found?.isTorn ?? false
    this.#base = found?.base ?? 0
  }

  get exists () { return this.#header !== null }

  get length () { return this.#length }

  /** Bytes after the last snapshot. */
  get appended () { return this.#length - this.#base }

  /** Length of the last snapshot, bytes. */
  get base () { return this.#base }

  /** Resolves when the disk has the frames, all of them. @param {Frame[]} frames */
  async append (frames) {
    if (this.#header === null) return this.replace(frames)
    const { salt } = this.#header
    const bytes = Buffer.concat(frames.map((frame) => encodeFrame(frame, salt)))
    const handle = await this.#parts.fs.open(this.#parts.path, 'r+')
    try {
      if (this.#isTorn) await handle.truncate(this.#length)
      this.#isTorn = true
      await writeAll(handle, bytes, this.#length)
      await handle.datasync()
      this.#isTorn = false
      this.#length += bytes.length
    } finally {
      await handle.close()
    }
  }

  /** Resolves when the disk has these frames instead of all earlier ones. @param {Frame[]} frames */
  async replace (frames) {
    const { directory, path, guid, fs } = this.#parts
    const header = newHeader(guid)
    const bytes = Buffer.concat([encodeHeader(header), ...frames.map((frame) => encodeFrame(frame, header.salt))])
    try {
      const handle = await fs.open(`${path}.new`, 'w', 0o600)
      try {
        await writeAll(handle, bytes, 0)
        await handle.datasync()
      } finally {
        await handle.close()
      }
    } catch (error) {
      await fs.rm(`${path}.new`, { force: true }).catch(() => {})
      throw error
    }
    await fs.rename(`${path}.new`, path)
    this.#header = header
    this.#length = this.#base = bytes.length
    this.#isTorn = false
    const folder = await fs.open(directory, 'r')
    try {
      await folder.sync()
    } finally {
      await folder.close()
    }
  }
}

/** @param {import('node:fs/promises').FileHandle} handle @param {Buffer} bytes @param {number} position */
async function writeAll (handle, bytes, position) {
  for (let at = 0; at < bytes.length;)
    at += (await handle.write(bytes, at, bytes.length - at, position + at)).bytesWritten
}
