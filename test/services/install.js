/**
 * The programs that the local services need. With root on Debian or Ubuntu, as in a CI container, missing ones are
 * installed; elsewhere the error says what to install.
 */
import { execFile, spawn } from 'node:child_process'
import { accessSync, constants, existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/**
 * @typedef {'redis-server' | 'valkey-server' | 'java' | 'mvn' | 'haproxy' | 'nginx' | 'nginx-stream' | 'ip' |
 *   'chromium' | 'promtool' | 'tcc'} Program
 */

/**
 * `least`: the oldest major version that works; `version`: finds the version in the program's output; `file`: a part of
 * `program` that has a package of its own.
 * @type {Record<Program, { package: string, name: string, least: number, args: string[], version: RegExp, program?:
 *   string, file?: string }>}
 */
const PROGRAMS = {
  'redis-server': {
    package: 'redis-server',
    name: 'Redis 7 or later (redis-server)',
    least: 7,
    args: ['--version'],
    version: /v=(\d+)/
  },
  // Debian 13 has it; Debian 12 in its backports
  'valkey-server': {
    package: 'valkey-server',
    name: 'Valkey 7.2 or later (valkey-server)',
    least: 7,
    args: ['--version'],
    version: /v=(\d+)/
  },
  // Kafka 4 brokers need Java 17; "1.8" is the version number of Java 8
  java: {
    package: 'default-jre-headless',
    name: 'a Java runtime 17 or later (java)',
    least: 17,
    args: ['-version'],
    version: /version "(\d+)/
  },
  mvn: {
    package: 'maven',
    name: 'Maven 3 or later (mvn)',
    least: 3,
    args: ['--version'],
    version: /Apache Maven (\d+)/
  },
  haproxy: {
    package: 'haproxy',
    name: 'HAProxy 2 or later (haproxy)',
    least: 2,
    args: ['-v'],
    version: /HA-?Proxy version (\d+)/
  },
  nginx: { package: 'nginx', name: 'nginx 1.18 or later (nginx)', least: 1, args: ['-v'], version: /nginx\/(\d+)/ },
  'nginx-stream': {
    package: 'libnginx-mod-stream',
    name: 'nginx with its stream module',
    least: 1,
    args: ['-v'],
    version: /nginx\/(\d+)/,
    program: 'nginx',
    file: '/usr/lib/nginx/modules/ngx_stream_module.so'
  },
  promtool: {
    package: 'prometheus', name: 'promtool of Prometheus 2', least: 2, args: ['--version'], version: /version (\d+)/
  },
  // compiles test/differential/clock.c where there is no gcc
  tcc: { package: 'tcc', name: 'a C compiler (gcc or tcc)', least: 0, args: ['-v'], version: /version (\d+)/ },
  ip: { package: 'iproute2', name: 'iproute2 (ip)', least: 4, args: ['-V'], version: /iproute2-(?:ss)?(\d+)/ },
  chromium: {
    package: 'chromium',
    name: 'Chromium 120 or later (chromium)',
    least: 120,
    args: ['--version'],
    version: /Chromium (\d+)/
  }
}

// The redis-server package starts a daemon on 6379 if the system allows it. A policy-rc.d that denies it is Debian's
// way to prevent that. An existing policy is left alone; this one is removed in any case.
const APT = `
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  trap 'rm -f "$policy"' EXIT
  trap 'exit 1' INT TERM HUP
  printf '#!/bin/sh\\nexit 101\\n' >"$policy" && chmod 755 "$policy"
fi
apt-get -o DPkg::Lock::Timeout=120 update -qq &&
apt-get -o DPkg::Lock::Timeout=120 install -y -qq --no-install-recommends "$@"
`

/** One installation at a time: services that start in parallel need the same packages. */
let queue = Promise.resolve()

/**
 * Makes sure that the programs are on the PATH and new enough.
 *
 * @param {Program[]} programs
 * @param {object} [options] for tests
 * @param {(packages: string[]) => Promise<void>} [options.install]
 * @param {() => boolean} [options.mayInstall] default: root, and apt-get is there
 * @returns {Promise<void>}
 * @throws {Error} that names everything that has to be installed
 */
export function ensureInstalled (
  programs,
  { install = aptInstall, mayInstall = () => process.getuid?.() === 0 && onPath('apt-get') } = {}
) {
  const result = queue.then(async () => {
    const missing = programs.filter((program) => !isThere(program))
    if (missing.length > 0 && mayInstall()) {
      const packages = missing.map((program) => PROGRAMS[program].package)
      console.error(`services: installing ${packages.join(', ')} with apt-get`)
      await install(packages)
    }
    /** @type {string[]} */
    const problems = []
    for (const program of programs) {
      const found = isThere(program) ? await majorVersion(program) : undefined
      if (found === undefined || found < PROGRAMS[program].least) {
        problems.push(`${PROGRAMS[program].name}${found === undefined ? '' : `, found version ${found}`}`)
      }
    }
    if (problems.length > 0) {
      throw new Error(
        `the local services need ${problems.join('; ')}. On Debian or Ubuntu: ` +
        `apt-get install ${programs.map((program) => PROGRAMS[program].package).join(' ')}. Or start Docker, which needs none of these.`
      )
    }
  })
  queue = result.catch(() => {}) // the caller gets the error; the next one in the queue does not
  return result
}

/**
 * Whether the tests of a program can run here, for `skip`.
 * @param {Program[]} programs
 * @returns {Promise<string | false>} what is missing, as a reason to skip
 */
export const lacks = (programs) =>
  ensureInstalled(programs).then(
    () => false,
    (error) => `needs ${programs.join(', ')}: ${error.message.split('\n', 1)[0]}`
  )

/** @param {Program} name */
function isThere (name) {
  const { program = name, file } = PROGRAMS[name]
  return onPath(program) && (file === undefined || existsSync(file))
}

/**
 * @param {string} program
 * @returns {string | undefined} path of the executable of this name on the PATH
 */
export function pathOf (program) {
  return (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '')
    .map((folder) => join(folder, program))
    .find((file) => {
      try {
        accessSync(file, constants.X_OK)
        return true
      } catch {
        return false
      }
    })
}

/** @param {string} program @returns {boolean} */
export const onPath = (program) => pathOf(program) !== undefined

/**
 * @param {Program} name
 * @returns {Promise<number | undefined>} undefined when it doesn't run, like the placeholder for java on macOS
 */
async function majorVersion (name) {
  const { program = name, args, version } = PROGRAMS[name]
  try {
    const { stdout, stderr } = await run(program, args, { timeout: 20_000 })
    const match = version.exec(stdout + stderr)
    return match === null ? undefined : Number(match[1])
  } catch {
    return undefined
  }
}

/**
 * @param {string[]} packages
 * @returns {Promise<void>}
 */
function aptInstall (packages) {
  return new Promise((resolve, reject) => {
    const child = spawn('sh', ['-c', APT, 'sh', ...packages],
      { stdio: ['ignore', 'ignore', 'pipe'], env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } })
    let output = ''
    child.stderr.setEncoding('utf8').on('data', (text) => { output = (output + text).slice(-4000) })
    child.once('error', reject)
    child.once('close', (code) => {
      if (code === 0) resolve()
      else reject(new Error(`apt-get could not install ${packages.join(', ')} (exit code ${code})\n${output}`))
    })
  })
}
