#!/usr/bin/env node
/**
 * Takes pictures of the README's first screen, about as a code host shows it: light, dark, and on a phone, for
 * docs/internals/reading.md. Needs Chromium and cwebp (Debian packages chromium and webp).
 *
 *   node scripts/readme-picture.js
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { marked } from 'marked'
import { startBrowser } from '../test/helpers/browser.js'
import { reversed } from '../test/helpers/file-scope.js'

const ROOT = fileURLToPath(new URL('../', import.meta.url))
const FOLDER = join(ROOT, 'docs/internals/images')
const SCREENS = {
  light: { colorScheme: /** @type {const} */ ('light'), viewport: { width: 1280, height: 900 } },
  dark: { colorScheme: /** @type {const} */ ('dark'), viewport: { width: 1280, height: 900 } },
  phone: { colorScheme: /** @type {const} */ ('light'), viewport: { width: 390, height: 844 } }
}
const STYLE = `
  :root { color-scheme: light dark }
  body { max-width: 900px; margin: 24px auto; padding: 0 24px; font: 16px/1.5 system-ui, sans-serif }
  h1, h2 { border-bottom: 1px solid #8884; padding-bottom: 6px }
  img { max-width: 100% } a { color: light-dark(#0969da, #4493f8) }
  pre { background: #8881; padding: 16px; overflow: auto; border-radius: 6px; font-size: 13.6px }
  .badge { background: #0969da22; border-radius: 4px; padding: 2px 8px; font-size: 13px }
  td, th { border: 1px solid #8884; padding: 6px 13px } table { border-collapse: collapse }`

/** @type {(() => unknown)[]} */
const stops = []
const scope = reversed({ after: (stop) => { stops.push(stop) } })
const folder = mkdtempSync(join(tmpdir(), 'inkcast-readme-'))
try {
  // badges come from another host
  const text = (await marked(readFileSync(join(ROOT, 'README.md'), 'utf8')))
    .replaceAll(/<img src="https:[^"]*" alt="([^"]*)">/g, '<span class="badge">$1</span>')
  const html = join(folder, 'readme.html')
  writeFileSync(html, `<!doctype html><meta charset="utf-8"><meta name="viewport" content="width=device-width">
    <base href="${pathToFileURL(ROOT)}"><style>${STYLE}</style>${text}`)
  mkdirSync(FOLDER, { recursive: true })
  const browser = await startBrowser(scope)
  for (const [name, screen] of Object.entries(SCREENS)) {
    const page = await browser.newPage(screen)
    await page.goto(String(pathToFileURL(html)))
    const picture = join(folder, `${name}.png`)
    await page.screenshot({ path: picture })
    execFileSync('cwebp', ['-quiet', '-q', '80', '-m', '6', picture, '-o', join(FOLDER, `readme-${name}.webp`)])
  }
} finally {
  for (const stop of stops) await stop()
  rmSync(folder, { recursive: true, force: true })
}
