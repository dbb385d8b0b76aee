import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { onPath } from '../services/install.js'

/** socket.io-client of Java, and what it needs, from Maven Central (0.7 MB). Later runs use them again. */

const VERSION = '2.1.2'
const CACHE = join(homedir(), '.cache', 'inkcast')
const JARS = join(CACHE, `socket.io-client-java-${VERSION}`)
/** For the jars and the plugins of Maven, ms. */
const TIMEOUT = 300_000

const POM = `<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>inkcast</groupId><artifactId>test</artifactId><version>1</version><dependencies><dependency>
<groupId>io.socket</groupId><artifactId>socket.io-client</artifactId><version>${VERSION}</version>
</dependency></dependencies></project>`

export const javaClasspath = join(JARS, '*')

/** @returns {Promise<string | false>} why they are not available, as a reason to skip; downloads them */
export async function lacksJavaSocketio () {
  const missing = ['javac', 'java', 'mvn'].find((command) => !onPath(command))
  if (missing !== undefined) return `there is no ${missing}`
  if (existsSync(JARS)) return false
  mkdirSync(CACHE, { recursive: true })
  const folder = mkdtempSync(join(CACHE, 'java-unfinished-'))
  try {
    writeFileSync(join(folder, 'pom.xml'), POM)
    await promisify(execFile)('mvn', ['-B', '-q', '-f', join(folder, 'pom.xml'), 'dependency:copy-dependencies',
      `-DoutputDirectory=${join(folder, 'jars')}`], { timeout: TIMEOUT })
    renameSync(join(folder, 'jars'), JARS)
    return false
  } catch (error) {
    return `socket.io-client of Java cannot be downloaded: ${String(error).split('\n')[0]}`
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
