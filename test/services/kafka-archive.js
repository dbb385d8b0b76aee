/**
 * An archive of Kafka's classes as loaded by Java (class data sharing), kept beside its jars: it halves the CPU time of
 * a broker's start.
 */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, renameSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { promisify } from 'node:util'
import { withLock } from './lock.js'

/**
 * Creates a missing archive: once for each version of Java, by a broker that starts and ends.
 *
 * @param {object} options
 * @param {string} options.classpath of ensureKafkaJars
 * @param {(javaOption: string) => Promise<void>} options.train starts a broker with this option, and stops it
 *   gracefully
 * @param {() => Promise<string>} [options.version] of Java
 * @returns {Promise<string | undefined>} the file; undefined if it could not be created, as with a Java before 13:
 *   brokers start without it
 */
export async function ensureKafkaArchive ({ classpath, train, version = javaVersion }) {
  const digest = createHash('sha256').update(await version()).digest('hex').slice(0, 12)
  const file = `${dirname(classpath)}-${digest}.jsa`
  if (!existsSync(file)) {
    await withLock(`${file}.lock`, async () => {
      if (!existsSync(file)) await make(file, train)
    })
  }
  return existsSync(file) ? file : undefined
}

async function javaVersion () {
  return (await promisify(execFile)('java', ['-version'])).stderr
}

/** @param {string} file @param {(javaOption: string) => Promise<void>} train */
async function make (file, train) {
  const unfinished = `${file}.${process.pid}`
  try {
    await train(`-XX:ArchiveClassesAtExit=${unfinished}`)
    renameSync(unfinished, file)
  } catch (error) {
    console.error(`services: brokers start without an archive of their classes: ${String(error).split('\n', 1)[0]}`)
  } finally {
    rmSync(unfinished, { force: true })
  }
}
