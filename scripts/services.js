#!/usr/bin/env node
/**
 * Redis, a Redis Cluster of three nodes and Kafka for development, in the background:
 *
 *   npm run services start     starts missing services and prints the variables
 *   npm run services stop
 *   npm run services status    exit code 1 unless all of them run
 *   eval "$(npm run --silent services env)"
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { removeDirectory } from '../test/services/directory.js'
import { startKafka } from '../test/services/kafka.js'
import { withLock } from '../test/services/lock.js'
import { endProcess, identify } from '../test/services/process-identity.js'
import { startRedis, startRedisCluster } from '../test/services/redis.js'
import {
  readState, runningServices, SERVICE_NAMES, stateDirectory, VARIABLES, writeEntry
} from '../test/services/state.js'

/** @typedef {import('../test/services/state.js').ServiceName} ServiceName */

/**
 * @typedef {object} Started
 * @property {string} url
 * @property {string} [classpath]
 * @property {{ pid: number, directory: string }[]} processes
 * @property {() => Promise<void>} release
 */

/** @type {Record<ServiceName, (parent: string) => Promise<Started>>} */
const STARTERS = {
  redis: async (parent) => {
    const server = await startRedis({ parent })
    return { url: server.url, processes: [server], release: server.release }
  },
  cluster: async (parent) => {
    const cluster = await startRedisCluster({ parent })
    return { url: cluster.url, processes: cluster.nodes, release: cluster.release }
  },
  kafka: async (parent) => {
    const broker = await startKafka({ parent, longLived: true })
    return { url: broker.brokers, classpath: broker.classpath, processes: [broker], release: broker.release }
  }
}

/** @type {Record<string, () => Promise<number>>} each returns the exit code */
const COMMANDS = {
  start: () => locked(async () => {
    const running = runningServices()
    const results = await Promise.allSettled(SERVICE_NAMES.map(async (name) => {
      const entry = running[name]
      if (entry === undefined) await start(name)
      else console.error(`${name}: already running at ${entry.url}`)
    }))
    const failures = results.flatMap((result, index) =>
      result.status === 'rejected' ? [`${SERVICE_NAMES[index]}: ${result.reason?.message}`] : []
    )
    for (const failure of failures) console.error(failure)
    printVariables()
    return failures.length === 0 ? 0 : 1
  }),
  stop: () => locked(async () => {
    await Promise.all(SERVICE_NAMES.map(async (name) => {
      console.error(`${name}: ${await clear(name) ? 'stopped' : 'not running'}`)
    }))
    return 0
  }),
  status: async () => {
    const running = runningServices()
    for (const name of SERVICE_NAMES) {
      const entry = running[name]
      const pids = entry?.processes.map(({ pid }) => pid).join(', ')
      console.log(
        `${name.padEnd(8)} ` +
        `${entry === undefined ? 'not running' : `running at ${entry.url} (pid ${pids}, files in ${entry.directories.join(', ')})`}`
      )
    }
    return SERVICE_NAMES.every((name) => running[name]) ? 0 : 1
  },
  env: async () => {
    if (printVariables() > 0) return 0
    console.error('no services are running: run "npm run services start" first')
    return 1
  }
}

/** @param {ServiceName} name */
async function start (name) {
  await clear(name) // remains of a service that died as a whole or in part
  console.error(`${name}: starting`)
  const begin = performance.now()
  const started = await STARTERS[name](stateDirectory())
  writeEntry(name, {
    url: started.url,
    classpath: started.classpath,
    processes: started.processes.flatMap(({ pid }) => identify(pid) ?? []),
    directories: started.processes.map(({ directory }) => directory)
  })
  // last: a service without an entry in the state must end with this process
  await started.release()
  console.error(`${name}: ready after ${((performance.now() - begin) / 1000).toFixed(1)} s`)
}

/**
 * Ends the processes in the state, but no other process that has the same pid now.
 * @param {ServiceName} name
 * @returns {Promise<boolean>} whether something ran
 */
async function clear (name) {
  const entry = readState()[name]
  if (entry === undefined) return false
  const ended = await Promise.all(entry.processes.map((identity) => endProcess(identity)))
  entry.directories.forEach(removeDirectory)
  writeEntry(name, undefined)
  return ended.includes(true)
}

/** @returns {number} number of variables */
function printVariables () {
  const running = runningServices()
  const lines = SERVICE_NAMES.flatMap((name) =>
    running[name] === undefined ? [] : [`export ${VARIABLES[name]}='${running[name].url}'`]
  )
  for (const line of lines) console.log(line)
  return lines.length
}

/** @param {() => Promise<number>} work */
function locked (work) {
  mkdirSync(stateDirectory(), { recursive: true })
  return withLock(join(stateDirectory(), 'lock'), work)
}

const command = COMMANDS[process.argv[2] ?? '']
if (command === undefined || process.argv.length > 3) {
  console.error(`usage: npm run services ${Object.keys(COMMANDS).join('|')}`)
  process.exitCode = 2
} else {
  try {
    process.exitCode = await command()
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    process.exitCode = 1
  }
}
