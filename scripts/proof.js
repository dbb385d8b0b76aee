#!/usr/bin/env node
/**
 * Everything that could show a lost record, in one command and one report (docs/proof.md):
 *
 *   npm run proof                      about two and a half hours on two cores
 *   npm run proof -- --quick           about 20 minutes
 *   npm run proof -- --only faults,soak
 *   npm run proof -- --continue        after an interruption: what ran to its end is not run again; the full run of a
 *                                      part counts with --quick as well
 *
 * Exit code: 0 nothing was lost, 1 something was, or a part did not run to its end, 2 wrong arguments, 130 interrupted.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { marked } from 'marked'
import { environment } from '../bench/measure/environment.js'
import { serviceVersions } from '../bench/measure/services.js'
import { proofPage } from './proof/page.js'
import { PARTS } from './proof/parts.js'
import { lostOf, runParts } from './proof/run.js'

const USAGE = `Usage: npm run proof -- [options]

  --quick         about 20 minutes in place of two and a half hours
  --only NAMES    ${PARTS.map(({ name }) => name).join(',')} (all)
  --folder PATH   for the results of the parts and the report (dist/proof)
  --continue      do not run parts again that ran to their end with results in the folder
  --publish       also write docs/proof.md`

/** @returns {{ quick: boolean, parts: typeof PARTS, folder: string, publish: boolean, goOn: boolean }} */
function readOptions () {
  const { values } = parseArgs({
    options: {
      quick: { type: 'boolean', default: false },
      only: { type: 'string' },
      folder: { type: 'string', default: 'dist/proof' },
      publish: { type: 'boolean', default: false },
      continue: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false }
    }
  })
  if (values.help) {
    console.log(USAGE)
    process.exit(0)
  }
  const names = values.only?.split(',')
  const unknown = names?.filter((name) => !PARTS.some((part) => part.name === name)) ?? []
  if (unknown.length > 0) throw new Error(`--only: there is no part ${unknown.join(', ')}`)
  return {
    quick: values.quick, publish: values.publish, goOn: values.continue, folder: path.resolve(values.folder),
    parts: PARTS.filter(({ name }) => names?.includes(name) ?? true)
  }
}

/** @param {string} markdown @returns {string} a page of its own */
const htmlOf = (markdown) => `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Proof</title>
<style>
  :root { color-scheme: light dark }
  body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
  table { border-collapse: collapse; display: block; overflow-x: auto }
  th, td { border: 1px solid #8886; padding: 0.3rem 0.6rem; text-align: left; vertical-align: top }
</style>
<main>${marked.parse(markdown, { async: false })}</main></html>
`

async function main () {
  let options
  try {
    options = readOptions()
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\n\n${USAGE}`)
    return 2
  }
  const { quick, parts, folder, publish, goOn } = options
  const scale = quick ? 'quick' : 'full'
  mkdirSync(folder, { recursive: true })
  const where = environment(await serviceVersions())
  const interruption = new AbortController()
  // Ctrl-C reaches the running part as well
  for (const name of /** @type {const} */ (['SIGINT', 'SIGTERM'])) process.on(name, () => interruption.abort())

  const outcomes = await runParts(parts, { scale, folder, signal: interruption.signal, say: console.log, goOn })
  if (interruption.signal.aborted) return 130
  const page = proofPage(outcomes, where)
  const files = { [path.join(folder, 'proof.md')]: page, [path.join(folder, 'proof.html')]: htmlOf(page) }
  if (publish) files[path.resolve('docs/proof.md')] = page
  for (const [file, text] of Object.entries(files)) writeFileSync(file, text)
  console.log(`\n${page}\nsaved to ${Object.keys(files).map((file) => path.relative(process.cwd(), file)).join(' and ')}`)
  return outcomes.some((outcome) => lostOf(outcome).length > 0) ? 1 : 0
}

process.exitCode = await main()
