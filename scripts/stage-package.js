#!/usr/bin/env node
/**
 * Makes the folder that is published as the package `inkcast`, at most 1 MB packed:
 *
 *   node scripts/stage-package.js FOLDER     then: npm publish FOLDER
 *
 * It has the files of package.json, built before (`npm run build`), with two changes. Code of the server and the client
 * has no comments; each line keeps its number, so that a stack trace leads to the line in the repository. Screenshots
 * and the film are left out: pages have their descriptions instead.
 */
import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { parse } from 'acorn'

const ROOT = fileURLToPath(new URL('../', import.meta.url))
/** Files that are left out. */
export const PICTURE = /^docs\/images\/.*\.webp$/
const CODE = /^(?:src|client)\/.*(?<!\.min)\.js$/

/**
 * @param {string} code
 * @returns {string} the same lines without comments, except those that tools read
 */
export function withoutComments (code) {
  /** @type {[number, number][]} */
  const comments = []
  parse(code, {
    ecmaVersion: 'latest',
    sourceType: 'module',
    onComment (_block, text, start, end) {
      const isRead = code.startsWith('#!', start) || /^\s*[#@](?:__PURE__|vite-ignore)|webpack|@license/.test(text)
      if (!isRead) comments.push([start, end])
    }
  })
  let [left, at] = ['', 0]
  for (const [start, end] of comments) {
    left += code.slice(at, start)
    // within a line a space: two words beside a comment stay two words
    left = code[end] === '\n' ? left.replace(/[ \t]+$/, '') : `${left} `
    left += code.slice(start, end).replaceAll(/[^\n]/g, '')
    at = end
  }
  return left + code.slice(at)
}

/** @param {string} page Markdown @returns {string} with the description of each screenshot in its place */
export const withoutPictures = (page) => page.replaceAll(/^!\[([^\]]*)\]\([^)]*\.webp\)$/gm, '*Picture: $1*')

/** @param {string} folder new or empty */
export function stagePackage (folder) {
  const listed = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], { cwd: ROOT, maxBuffer: 2 ** 24 })
  /** @type {{ path: string }[]} */
  const files = JSON.parse(listed.toString())[0].files
  for (const { path } of files) {
    if (PICTURE.test(path)) continue
    const [from, to] = [join(ROOT, path), join(folder, path)]
    mkdirSync(dirname(to), { recursive: true })
    if (CODE.test(path)) writeFileSync(to, withoutComments(readFileSync(from, 'utf8')))
    else if (path.endsWith('.md')) writeFileSync(to, withoutPictures(readFileSync(from, 'utf8')))
    else copyFileSync(from, to)
  }
  const content = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8'))
  for (const name of ['devDependencies', 'scripts', 'workspaces']) delete content[name]
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(content, null, 2)}\n`)
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const [folder] = process.argv.slice(2)
  if (folder === undefined) throw new Error('node scripts/stage-package.js FOLDER')
  stagePackage(folder)
}
