import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { systemHost } from '../../../src/base/process/host.js'

const MODULE = new URL('../../../src/base/process/host.js', import.meta.url).href

/** Machine id as seen by another process. @param {string[]} command prefix */
async function machineOf (command) {
  const [program, ...args] = [
    ...command,
    process.execPath,
    '--input-type=module',
    '-e',
    `import { systemHost } from '${MODULE}'; process.stdout.write(systemHost.machine)`
  ]
  return (await promisify(execFile)(program, args)).stdout
}

test('processes of one machine have the same id', async () => {
  assert.equal(await machineOf([]), systemHost.machine)
})

const container = ['unshare', '--pid', '--fork']
const mayNot =
  process.platform !== 'linux'
    ? 'needs Linux'
    : await promisify(execFile)(container[0], [...container.slice(1), 'true']).then(
        () => false,
        (error) => `namespaces are not allowed here: ${error.message}`
      )

test(
  'a container with its host\'s name is a separate machine, because their processes cannot see each other',
  { skip: mayNot },
  async () => { assert.notEqual(await machineOf(container), systemHost.machine) }
)
