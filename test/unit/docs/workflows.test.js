import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { accessSync, constants, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, test } from 'node:test'
import { parse } from 'yaml'
import { makeDirectory, removeDirectory } from '../../services/directory.js'

const ROOT = new URL('../../../', import.meta.url)
const read = (/** @type {string} */ file) => readFileSync(new URL(file, ROOT), 'utf8')
const { scripts } = JSON.parse(read('package.json'))
const FOLDER = '.github/workflows/'

describe('workflows', () => {
  for (const name of readdirSync(new URL(FOLDER, ROOT))) {
    const text = read(`${FOLDER}${name}`)
    const workflow = parse(text)
    /** @type {[string, any][]} */
    const jobs = Object.entries(workflow.jobs)
    const steps = jobs.flatMap(([, job]) => job.steps)

    test(`${name} runs commands that exist`, () => {
      for (const { run = '' } of steps) {
        for (const [, script] of run.matchAll(/npm run (?:-s )?([\w:-]+)/g)) assert.ok(scripts[script], `npm run ${script}`)
        for (const [, ring] of run.matchAll(/npm test -- (\w+)/g)) assert.ok(existsSync(new URL(`test/${ring}`, ROOT)), ring)
        if (run.startsWith('.ci/')) accessSync(new URL(run, ROOT), constants.X_OK)
      }
    })

    test(`${name} names actions by their commit, with the version beside`, () => {
      for (const { uses } of steps.filter((step) => step.uses !== undefined)) {
        assert.match(uses, /^[\w-]+\/[\w-]+@[0-9a-f]{40}$/)
        assert.match(text, new RegExp(`${uses} # v\\d+\\.\\d+\\.\\d+`))
      }
    })

    test(`${name} has few rights, and each job an end`, () => {
      assert.deepEqual(workflow.permissions, { contents: 'read' })
      for (const [id, job] of jobs) assert.ok(job['timeout-minutes'] > 0, id)
      for (const { uses, with: options } of steps)
        if (uses?.startsWith('actions/checkout@')) assert.equal(options['persist-credentials'], false)
    })

    test(`${name} puts nothing that others write into a shell`, () => {
      for (const { run = '' } of steps) assert.doesNotMatch(run, /\$\{\{/)
    })
  }
})

describe('a release', () => {
  const { jobs: { packages, manifest } } = parse(read(`${FOLDER}release.yml`))
  const folders = ['client', ...readdirSync(new URL('packages/', ROOT)).map((name) => `packages/${name}`)]
    .filter((folder) => existsSync(new URL(`${folder}/package.json`, ROOT)))
  const names = folders.map((folder) => JSON.parse(read(`${folder}/package.json`)).name)

  test('publishes the packages that npm has not, each with its repository', (t) => {
    const folder = makeDirectory('release')
    t.after(() => removeDirectory(folder))
    const write = (/** @type {string} */ path, /** @type {string} */ text, mode = 0o644) => {
      mkdirSync(dirname(join(folder, path)), { recursive: true })
      writeFileSync(join(folder, path), text, { mode })
    }
    for (const each of folders) write(`checkout/${each}/package.json`, read(`${each}/package.json`))
    write('inkcast-package/package.json', read('package.json'))
    write('bin/npm', `#!/bin/sh
case "$1 $2" in
  "view inkcast-client@"*) echo 0.1.0 ;;
  view*) exit 1 ;;
  publish*) echo "$2" ;;
esac
`, 0o755)
    const steps = packages.steps.map((/** @type {{ run?: string }} */ { run }) => run ?? '')
    const at = steps.findIndex((/** @type {string} */ run) => run.includes('npm publish'))
    assert.match(steps.slice(0, at).join('\n'), /npm pkg set .*repository\.url=.* --workspaces --include-workspace-root/)
    const published = execFileSync('bash', ['-e', '-c', steps[at]], {
      cwd: join(folder, 'checkout'), env: { ...process.env, PATH: `${join(folder, 'bin')}:${process.env.PATH}` }
    })
    assert.deepEqual(published.toString().trim().split('\n').sort(),
      ['../inkcast-package', ...folders.filter((each) => each !== 'client').map((each) => `./${each}`)].sort())
  })

  test('lists each package that its owner has to set up', () => {
    const page = read('docs/internals/releasing.md')
    for (const name of names) assert.ok(page.includes(`\`${name}\``), name)
  })

  test('has the packages of the image in its SBOM, from the lockfile', () => {
    const runs = manifest.steps.map((/** @type {{ run?: string }} */ { run }) => run ?? '')
    const [, options] = /RUN npm ci (.*) --ignore-scripts/.exec(read('Dockerfile')) ?? []
    const [sbom] = runs.filter((/** @type {string} */ run) => run.includes('npm sbom'))
    for (const option of ['--package-lock-only', ...options.split(' ')]) assert.ok(sbom.includes(option), option)
  })
})

test('forms of issues have a name and required questions', () => {
  for (const name of ['bug', 'wish']) {
    const form = parse(read(`.github/ISSUE_TEMPLATE/${name}.yml`))
    assert.ok(form.name && form.description)
    assert.ok(form.body.some((/** @type {any} */ { validations }) => validations?.required))
  }
})
