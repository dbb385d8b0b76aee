#!/usr/bin/env node
import { parseArgs } from 'node:util'
import { checkLimits, readMachine } from './limits.js'
import { report } from './report.js'

/**
 * Prints what is wrong on this machine and how to set it. Needs no settings and no dependencies, so that it also runs
 * on balancers and Redis machines: copy src/base/machine and src/base/process/listen.js, or use the container image.
 */

const USAGE = `Prints kernel limits of this machine that are too low, why, and the command that sets them.

  node src/base/machine/check.js [options]

  --for USES         what runs here: gateway, balancer, redis; comma separated (default: gateway)
  --connections N    connections that this machine shall hold (default: 100000)
  --workers N        gateway workers, among which they are spread (default: 1)
  --ports LIST       ports that inkcast listens on (default: 3000,3001,9100)
  --json             print JSON

Exit code: 0 nothing to change, 1 something to change, 2 wrong arguments.
Example: node src/base/machine/check.js --for gateway,redis --connections 500000 --workers 16`

const USES = ['gateway', 'balancer', 'redis']

/** @param {string} message @returns {never} */
function fail (message) {
  console.error(`${message}\n\n${USAGE}`)
  process.exit(2)
}

/** @param {string} name @param {string | undefined} value @param {number} fallback */
function count (name, value, fallback) {
  if (value === undefined) return fallback
  const number = Number(value)
  return Number.isInteger(number) && number > 0 ? number : fail(`--${name} ${value}: a whole number above 0`)
}

function readArguments () {
  try {
    return parseArgs({
      options: {
        for: { type: 'string', default: 'gateway' },
        connections: { type: 'string' },
        workers: { type: 'string' },
        ports: { type: 'string', default: '3000,3001,9100' },
        json: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' }
      }
    }).values
  } catch (error) {
    return fail(error instanceof Error ? error.message : String(error))
  }
}

const options = readArguments()
if (options.help) {
  console.log(USAGE)
} else {
  const uses = /** @type {import('./kernel-limits.js').Use[]} */ (options.for.split(','))
  for (const use of uses) if (!USES.includes(use)) fail(`--for ${use}: ${USES.join(', ')}`)
  const findings = checkLimits(readMachine(), {
    uses,
    connections: count('connections', options.connections, 100_000),
    workers: count('workers', options.workers, 1),
    ports: options.ports.split(',').map((port) => count('ports', port, 0))
  })
  process.stdout.write(options.json ? `${JSON.stringify(findings, null, 2)}\n` : report(findings))
  process.exitCode = findings.length === 0 ? 0 : 1
}
