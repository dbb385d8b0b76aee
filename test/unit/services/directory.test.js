import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { test } from 'node:test'
import { makeDirectory, removeDirectory } from '../../services/directory.js'

const MODULE = new URL('../../services/directory.js', import.meta.url).href

/**
 * Runs a process that creates a directory and is killed.
 * @param {string} temporary its directory for temporary files
 * @param {string} args of makeDirectory
 */
function makeAndDie (temporary, args) {
  const program = `import { makeDirectory } from '${MODULE}'
    import { writeFileSync, writeSync } from 'node:fs'
    const directory = makeDirectory(${args})
    writeFileSync(directory + '/data', 'x')
    writeSync(1, directory)
    process.kill(process.pid, 'SIGKILL')`
  const { pid, stdout, signal } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    env: { ...process.env, TMPDIR: temporary },
    encoding: 'utf8'
  })
  assert.equal(signal, 'SIGKILL')
  return { pid, directory: stdout }
}

test('directories whose creator was killed are removed with the next one, and no others', (t) => {
  const temporary = makeDirectory('directory-test')
  t.after(() => removeDirectory(temporary))
  const killed = makeAndDie(temporary, '"killed"')
  assert.ok(existsSync(killed.directory), killed.directory)
  const others = [
    `inkcast-living-${process.pid}-aB3dE6`,
    `inkcast-${killed.pid}-aB3dE6`, // inkcast removes its run directories itself
    `inkcast-kept-${killed.pid}`,
    `somebody-else-${killed.pid}-aB3dE6`
  ]
  for (const name of others) mkdirSync(join(temporary, name))
  const outliving = makeAndDie(temporary, `"service", ${JSON.stringify(temporary)}`)
  const next = makeAndDie(temporary, '"next"')
  assert.deepEqual(
    readdirSync(temporary).sort(),
    [...others, basename(outliving.directory), basename(next.directory)].sort()
  )
})
