import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import { connectionsFor, descriptorLimit, descriptorsBeside } from '../../../src/base/process/descriptors.js'

test('the connection limit of a process leaves descriptors for its own use', () => {
  assert.deepEqual([120, 1024, 65_536, 1_048_576].map(connectionsFor), [50, 908, 62_195, 996_083])
  assert.equal(connectionsFor(20), 1)
  assert.equal(connectionsFor(Infinity), 10_000_000)
  assert.equal(descriptorsBeside(2), descriptorLimit() - 20, 'ports besides PORT have sockets in each worker')
})

test('the limit is that at the start of the process', () => {
  const module = new URL('../../../src/base/process/descriptors.js', import.meta.url).href
  const program = `import(${JSON.stringify(module)}).then(({ descriptorLimit }) => console.log(descriptorLimit()))`
  assert.equal(
    execFileSync('sh', ['-c', 'ulimit -n 222; exec "$0" -e "$1"', process.execPath, program]).toString(),
    '222\n'
  )
  assert.ok(descriptorLimit() >= 222)
})
