import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { transform } from 'esbuild'
import { codeBlocks } from '../../helpers/code-blocks.js'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))

test('TypeScript of the pages compiles', (t) => {
  const folder = mkdtempSync(join(ROOT, 'test/types/blocks-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const blocks = codeBlocks().filter(({ language }) => language === 'ts')
  assert.ok(blocks.length > 0)
  blocks.forEach(({ code }, i) => {
    const client = 'import { connect } from \'inkcast-client\'\nconst client = connect(\'http://localhost:3000\')\n'
    writeFileSync(join(folder, `${i}.ts`), /from 'inkcast/.test(code) ? code : client + code)
  })
  writeFileSync(join(folder, 'tsconfig.json'), '{ "extends": "../tsconfig.json", "include": ["*.ts"] }')
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc')
  const { status, stdout } = spawnSync(process.execPath, [tsc, '-p', folder], { encoding: 'utf8' })
  assert.equal(status, 0, stdout)
})

test('JSX of the pages is well formed', async () => {
  const blocks = codeBlocks().filter(({ language }) => language === 'jsx')
  assert.ok(blocks.length > 0)
  for (const { code } of blocks) await transform(code, { loader: 'jsx' })
})
