import assert from 'node:assert/strict'
import { accessSync, constants, existsSync, readdirSync, readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { parse } from 'yaml'

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

test('forms of issues have a name and required questions', () => {
  for (const name of ['bug', 'wish']) {
    const form = parse(read(`.github/ISSUE_TEMPLATE/${name}.yml`))
    assert.ok(form.name && form.description)
    assert.ok(form.body.some((/** @type {any} */ { validations }) => validations?.required))
  }
})
