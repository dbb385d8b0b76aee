/**
 * The rings of tests, and the selection of their files by a command line.
 */
import { existsSync, readdirSync } from 'node:fs'
import { join, relative, resolve, sep } from 'node:path'

/**
 * @typedef {object} Ring
 * @property {boolean} services whether its tests need Redis and Kafka
 * @property {boolean} byDefault run when no ring is named
 * @property {number} concurrency test files in parallel. Most tests wait (for brokers, leases, timeouts), so there may
 *   be more of them than cores
 * @property {number} timeoutMs for a file with Node 20 and 22, for a test with Node 24
 * @property {number} seconds approximate duration on one of two cores that are otherwise idle; only used to show the
 *   remaining time
 * @property {number} [together] test files of one process; default 1. In a run of one file it has its own
 * @property {string[]} [apart] files that need a process of their own, and folders/ whose files share processes with
 *   each other only
 * @property {boolean} [single] no other ring runs at the same time
 * @property {boolean} [beside] runs beside all others from the beginning, and gives way to them
 * @property {string} about for the help
 */

/**
 * @type {Record<string, Ring>} in starting order, two at a time: first the quick one that says most, then the longest
 */
export const RINGS = {
  unit: {
    services: false, byDefault: true, concurrency: 3, timeoutMs: 300_000, seconds: 105, together: 32,
    apart: [
      // replace the time and the environment of their process
      'test/unit/simulation/',
      // look at what a process loads, or at its connections
      'test/unit/simulation/world/checks.test.js', 'test/unit/simulation/redis-down-shard.test.js',
      'test/unit/simulation/redis-shards.test.js',
      // measure its heap, or write it, which takes as long as the heap is large
      'test/unit/admin/figures.test.js', 'test/unit/bench/heap-snapshot.test.js', 'test/unit/common/fetch-json.test.js',
      'test/unit/engine/frame-reader.test.js',
      'test/unit/kafka/codecs/', 'test/unit/wire/msgpack.test.js'
    ],
    about: 'parts of the code, without services'
  },
  browser: {
    services: true, byDefault: true, concurrency: 2, timeoutMs: 900_000, seconds: 130, together: 10,
    about: 'pages in a browser'
  },
  // a whole inkcast in one process, or started as a command: no services, but more than a few seconds
  process: {
    services: false, byDefault: true, concurrency: 3, timeoutMs: 600_000, seconds: 280, together: 24,
    apart: [
      'test/process/simulation/',
      // compiles, and starts programs: with others it would be a part that takes twice as long as the next one
      'test/process/package/',
      // measures the heap of its process
      'test/process/admission/limits.test.js',
      // listens to errors that nothing has caught
      'test/process/client/handed-over.test.js',
      // looks at all handles of its process
      'test/process/rehearsal/warm-up.test.js',
      // sets up what a process has once
      'test/process/tracing/tracing.test.js'
    ],
    about: 'a whole inkcast in one process, and commands'
  },
  // each file with its own Redis, and so with its own clusters
  cluster: {
    services: true, byDefault: true, concurrency: 2, timeoutMs: 900_000, seconds: 110,
    about: 'clusters with a Redis for each file'
  },
  // clusters whose processes are replaced, and load balancers
  alone: {
    services: true, byDefault: true, concurrency: 2, timeoutMs: 900_000, seconds: 120,
    about: 'clusters whose processes are replaced, and load balancers'
  },
  contract: {
    services: true, byDefault: true, concurrency: 4, timeoutMs: 600_000, seconds: 150, together: 4,
    about: 'the same tests for each implementation of an interface'
  },
  integration: {
    services: true, byDefault: true, concurrency: 4, timeoutMs: 900_000, seconds: 55,
    about: 'parts of the code with Redis and Kafka'
  },
  // clusters in virtual time, each with a schedule that its test writes
  world: {
    services: false, byDefault: true, concurrency: 2, timeoutMs: 300_000, seconds: 45, together: 10,
    about: 'behavior over time, in virtual time'
  },
  // whole clusters in virtual time: nothing in it waits or depends on real time, so it takes what the others leave of
  // the cores. Its timeout is that of the whole run
  simulation: {
    services: false, byDefault: true, concurrency: 1, timeoutMs: 3_600_000, seconds: 310, beside: true,
    about: 'a whole cluster in virtual time, with faults, by seed'
  },
  // attacks on a worker, with other clients: a few seconds each, or ATTACK_SECONDS
  attack: {
    services: false, byDefault: false, concurrency: 1, timeoutMs: 7_200_000, seconds: 285, single: true,
    about: 'attacks on a gateway worker'
  },
  // speed of the demo page; needs an otherwise idle machine
  speed: {
    services: true, byDefault: false, concurrency: 1, timeoutMs: 900_000, seconds: 30, single: true,
    about: 'speed of the demo page, on an idle machine'
  },
  // builds the docs site; packs, installs and compiles the packages, builds each example with Vite and Next, and tests
  // inkcast-react with the major version of React before that of the ring browser
  nightly: {
    services: false, byDefault: false, concurrency: 1, timeoutMs: 900_000, seconds: 190, single: true,
    about: 'the docs site, the packages as npm installs them, builds of the examples and of a program in Go, and React 18'
  },
  // the services of test/services themselves: these tests start their own
  services: {
    services: false, byDefault: false, concurrency: 1, timeoutMs: 900_000, seconds: 120, single: true,
    about: 'the services of the tests'
  },
  fault: {
    services: true, byDefault: false, concurrency: 1, timeoutMs: 900_000, seconds: 1450, single: true,
    about: 'each fault in a real cluster, under load'
  }
}

/**
 * @param {string[]} args
 * @returns {boolean} the help of the runner is wanted; behind `--` it is that of node --test
 */
export const wantsHelp = (args) => args.some((arg, i) => /^(?:--help|-h)$/.test(arg) && !args.slice(0, i).includes('--'))

/** @returns {string} the help of the runner */
export function runnerHelp () {
  const rings = Object.entries(RINGS).map(([name, { about, byDefault, services }]) =>
    `  ${name.padEnd(13)}${byDefault ? '' : 'only by name; '}${about}${services ? ' (with services)' : ''}`)
  return `Usage: node scripts/test.js [ring | file]… [-- options of node --test]

Without arguments all rings run that need no name, two at a time.

Rings:
${rings.join('\n')}

Examples:
  node scripts/test.js                                    npm test
  node scripts/test.js unit contract
  node scripts/test.js test/unit/common/clock.test.js     one file
  node scripts/test.js integration -- --test-name-pattern=kick

Rings with services use Redis and Kafka at REDIS_URL, REDIS_CLUSTER_URL and KAFKA_BROKERS, or those of "npm run services start".
If there are none, they are started for the run, in Docker or as local processes (TEST_SERVICES=docker or local).
Files that need no services also run with "node --test FILE".

Exit codes: 0 all passed, 1 not all, 2 wrong arguments, 130 interrupted.`
}

/**
 * @typedef {{ name: string, files: string[] }} Selection files relative to the root; may be empty when the ring was
 *   named
 */

/**
 * Reads `[ring | file of a ring]… [options of node --test] [-- options of node --test]`.
 *
 * @param {string[]} args
 * @param {string} root the folder that holds test/
 * @returns {{ selections: Selection[], nodeArgs: string[] }} in the order of RINGS. Unnamed rings without tests are
 *   left out
 * @throws {Error} for an argument that is neither a ring nor a test file of one
 */
export function selectRings (args, root) {
  const end = args.indexOf('--')
  const own = end === -1 ? args : args.slice(0, end)
  const nodeArgs = [...own.filter((arg) => arg.startsWith('-')), ...(end === -1 ? [] : args.slice(end + 1))]
  /** @type {Map<string, Set<string>>} */
  const named = new Map()
  for (const arg of own.filter((candidate) => !candidate.startsWith('-'))) {
    const file = relative(root, resolve(root, arg))
    const [folder, ring] = file.split(sep)
    // as completed by a shell: test/unit/
    const isFolder = file === join('test', ring ?? '') && Object.hasOwn(RINGS, ring)
    const isFile =
      folder === 'test' && Object.hasOwn(RINGS, ring) && file.endsWith('.test.js') && existsSync(join(root, file))
    if (!isFile && !isFolder && !Object.hasOwn(RINGS, arg)) {
      throw new Error(`${arg} is neither a ring (${Object.keys(RINGS).join(', ')}) nor a test file of one`)
    }
    const name = isFile || isFolder ? ring : arg
    named.set(name, new Set([...named.get(name) ?? [], ...(isFile ? [file] : testFiles(root, name))]))
  }
  const selections = Object.keys(RINGS).flatMap((name) => {
    if (named.size > 0) return named.has(name) ? [{ name, files: [...named.get(name) ?? []].sort() }] : []
    const files = RINGS[name].byDefault ? testFiles(root, name) : []
    return files.length > 0 ? [{ name, files }] : []
  })
  return { selections, nodeArgs }
}

/**
 * @param {string} root
 * @param {string} ring
 * @returns {string[]}
 */
function testFiles (root, ring) {
  const folder = join(root, 'test', ring)
  if (!existsSync(folder)) return []
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.js'))
    .map((name) => join('test', ring, name))
    .sort()
}
