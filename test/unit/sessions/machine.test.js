import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { thisMachine } from '../../../src/workers/worker-lease.js'

const MODULE = new URL('../../../src/workers/worker-lease.js', import.meta.url).href

/** Machine id as seen by another process. @param {string[]} command prefix */
async function machineOf (command) {
  const [program, ...args] = [
    ...command,
    process.execPath,
    '--input-type=module',
    '-e',
    `import { thisMachine } from '${MODULE}'; process.stdout.write(thisMachine())`
  ]
  return (await promisify(execFile)(program, args)).stdout
}

test('processes of one machine have the same id', async () => {
  assert.equal(await machineOf([]), thisMachine())
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
  async () => {
    assert.notEqual(await machineOf(container), thisMachine())
  }
)
