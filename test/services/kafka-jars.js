/**
 * The jars of the Kafka broker, from Maven Central, in the user's cache: `${XDG_CACHE_HOME:-~/.cache}/inkcast/`.
 */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { spawnGuarded } from './guard.js'
import { ensureInstalled } from './install.js'
import { withLock } from './lock.js'

const POM = fileURLToPath(new URL('kafka-pom/pom.xml', import.meta.url))

/**
 * Downloads missing jars (about 45 MB, with a line on stderr); later runs need neither Maven nor the network.
 *
 * @param {object} [options]
 * @param {string} [options.cache] default: inkcast/ in the user's cache directory
 * @param {(args: string[], directory: string) => Promise<void>} [options.run] for tests, instead of Maven
 * @returns {Promise<string>} the value for `java -cp`
 * @throws {Error} when Maven is missing or fails
 */
export async function ensureKafkaJars ({ cache = defaultCache(), run = runMaven } = {}) {
  // named after the content of the pom, so that another version never uses old jars
  const digest = createHash('sha256').update(readFileSync(POM)).digest('hex').slice(0, 12)
  const directory = join(cache, `kafka-jars-${digest}`)
  if (!existsSync(directory)) {
    mkdirSync(cache, { recursive: true })
    // Maven's repository does not support parallel downloads of the same file
    await withLock(join(cache, 'kafka-jars.lock'), async () => {
      if (!existsSync(directory)) await download(directory, cache, run)
    })
  }
  return join(directory, '*')
}

function defaultCache () {
  return join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'inkcast')
}

/**
 * Downloads into a directory of its own that gets its final name when it is complete: a partial download is never used.
 * @param {string} directory
 * @param {string} cache
 * @param {typeof runMaven} run
 */
async function download (directory, cache, run) {
  await ensureInstalled(['java', 'mvn'])
  const unfinished = mkdtempSync(join(cache, 'kafka-jars-unfinished-'))
  const jars = join(unfinished, 'jars')
  console.error('services: downloading the Kafka broker from Maven Central (45 MB, once)')
  try {
    await run(['-B', '-q', '-ntp', '--strict-checksums', '-f', POM, 'dependency:copy-dependencies',
      '-DincludeScope=runtime', `-DoutputDirectory=${jars}`], unfinished)
    renameSync(jars, directory)
  } catch (error) {
    // another process that ignored the lock was faster: its jars are as good
    if (!existsSync(directory)) throw error
  } finally {
    rmSync(unfinished, { recursive: true, force: true })
  }
}

/**
 * Under guard: when this process is killed, Maven ends and its partial download is removed.
 * @param {string[]} args
 * @param {string} directory
 */
async function runMaven (args, directory) {
  const maven = spawnGuarded('mvn', args, { log: join(directory, 'mvn.log'), directory })
  const { code, signal } = await maven.finished()
  if (code !== 0) throw new Error(`mvn failed (${signal ?? `exit code ${code}`})\n${maven.lastOutput()}`)
}
