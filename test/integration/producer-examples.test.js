import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { kafkaClasspath } from '../helpers/env.js'
import { onPath } from '../services/install.js'

const PRODUCER = fileURLToPath(new URL('../../examples/producers/Producer.java', import.meta.url))

test('the example of a Java producer can be compiled', async (t) => {
  const classpath = kafkaClasspath()
  if (classpath === '' || !onPath('javac')) return t.skip('Java is not installed')
  const folder = mkdtempSync(join(tmpdir(), 'inkcast-'))
  t.after(() => rmSync(folder, { recursive: true }))
  await promisify(execFile)('javac', [
    '-Xlint:all,-classfile,-path',
    '-Werror',
    '-cp',
    classpath,
    '-d',
    folder,
    PRODUCER
  ])
})
