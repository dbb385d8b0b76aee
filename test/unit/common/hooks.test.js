import assert from 'node:assert/strict'
import { readFileSync, readdirSync } from 'node:fs'
import { describe, test } from 'node:test'
import { parse } from 'acorn'
import { HOOKS } from '../../../src/base/common/hooks.js'

const ROOT = new URL('../../../', import.meta.url)
/** Part of the Socket.IO protocol, and names of JavaScript's own. */
const PUBLIC = new Set(['_placeholder', '__proto__', '__filename', '__dirname'])

/** @type {{ file: string, text: string }[]} */
const sources = ['src', 'client'].flatMap((folder) =>
  readdirSync(new URL(folder, ROOT), { recursive: true, encoding: 'utf8' })
    // dist/ is generated
    .filter((name) => name.endsWith('.js') && !/^(?:demo\/page|dist)\//.test(name))
    .map((name) => `${folder}/${name}`)
    .map((file) => ({ file, text: readFileSync(new URL(file, ROOT), 'utf8') }))
)

/** @typedef {{ name: string, line: number }} Access */

/**
 * Access to private parts of a package or of Node: names with an underscore, prototypes, symbols, files of packages.
 * @param {string} text
 * @returns {Access[]}
 */
function privateAccess (text) {
  /** @type {Access[]} */
  const found = []
  const declared = new Set()
  /** @param {any} node @param {string} name */
  const add = (node, name) => found.push({ name, line: node.loc.start.line })
  /** @param {any} key */
  const nameOf = (key) => key.name ?? key.value
  const isUnderscored = (/** @type {unknown} */ name) => typeof name === 'string' && /^_\w/.test(name)
  const isOwn = (/** @type {any} */ object) =>
    object.type === 'Identifier' && (object.name === 'Object' || declared.has(object.name))
  const isPrototypeOf = (/** @type {any} */ node) =>
    node.type === 'CallExpression' && node.callee.property?.name === 'getPrototypeOf'
  /** @type {Record<string, (node: any) => void>} */
  const visitors = {
    ClassDeclaration (node) { declared.add(node.id.name) },
    MemberExpression (node) {
      const name = node.computed ? node.property.value : node.property.name
      if (isUnderscored(name)) add(node, name)
      if (name === 'prototype' && !isOwn(node.object))
        add(node, node.parent.type === 'MemberExpression' && !node.parent.computed ? nameOf(node.parent.property) : name)
      if (name === 'getOwnPropertySymbols') add(node, name)
      if (name === 'cache' && node.object.name === 'require') add(node, 'require.cache')
      if (isPrototypeOf(node.object)) add(node, nameOf(node.property))
    },
    Property (node) {
      if (isUnderscored(nameOf(node.key))) add(node, nameOf(node.key))
      if (node.parent.type === 'ObjectPattern' && nameOf(node.key) === 'prototype') add(node, 'prototype')
      if (node.parent.type === 'ObjectPattern' && node.parent.parent.init && isPrototypeOf(node.parent.parent.init))
        add(node, nameOf(node.key))
    },
    MethodDefinition (node) { if (isUnderscored(nameOf(node.key))) add(node, nameOf(node.key)) },
    CallExpression (node) {
      if (node.callee.property?.name === 'setPrototypeOf' && !isOwn(node.arguments[1]?.object ?? {}))
        add(node, 'setPrototypeOf')
      const [path] = node.arguments
      if (node.callee.type === 'CallExpression' && /^\.{1,2}\//.test(path?.value)) add(node, path.value)
    },
    Literal (node) { if (isDeep(node.value)) add(node, node.value) },
    TemplateElement (node) { if (isDeep(node.value.raw)) add(node, node.value.raw) }
  }
  visit(parse(text, { ecmaVersion: 'latest', sourceType: 'module', allowHashBang: true, locations: true }), visitors)
  return found
}

/**
 * @param {any} node of a syntax tree; gets its `parent`
 * @param {Record<string, (node: any) => void>} visitors by type, called in the order of the text
 */
function visit (node, visitors) {
  visitors[node.type]?.(node)
  for (const [key, value] of Object.entries(node)) {
    if (key === 'parent') continue
    for (const child of Array.isArray(value) ? value : [value]) {
      if (typeof child?.type !== 'string') continue
      child.parent = node
      visit(child, visitors)
    }
  }
}

/** Files of packages, but not their package.json. @param {unknown} value */
const isDeep = (value) => typeof value === 'string' &&
  HOOKS.some(({ package: name }) => value.startsWith(`${name}/`) && value !== `${name}/package.json`)

/** @param {string} part @returns {string[]} the code in backticks */
const quoted = (part) => [...part.matchAll(/`([^`]+)`/g)].map(([, text]) => text)
/** @param {string} text @returns {string[]} */
const words = (text) => text.match(/[\w$]+/g) ?? []
/** @param {string} part @param {string} name */
const has = (part, name) => quoted(part).some((text) => text === name || words(text).includes(name)) ||
  quoted(part).some((text) => name.includes('/') && name.startsWith(text)) ||
  (name === 'prototype' && part.includes('prototype'))

/** Methods that the client's own files share. */
const ownOfClient = new Set(
  sources.filter(({ file }) => file.startsWith('client/'))
    .flatMap(({ text }) => [...text.matchAll(/^ {2}(?:get |async )?(_\w+)\b/gm)].map(([, name]) => name))
)

/** @param {{ file: string, text: string }} source @returns {string[]} accesses that the list lacks */
const unlisted = ({ file, text }) =>
  privateAccess(text)
    .filter(({ name }) => !PUBLIC.has(name) && !(file.startsWith('client/') && ownOfClient.has(name)))
    .filter(({ name }) => !HOOKS.some(({ files, part }) => files.includes(file) && has(part, name)))
    .map(({ name, line }) => `${file}:${line} ${name}`)

describe('the list of private parts', () => {
  test('has every private access of src and client (if not: src/base/common/hooks.js)', () => {
    assert.deepEqual(sources.flatMap(unlisted), [])
  })

  test('has no entry that its files no longer use', () => {
    const textOf = new Map(sources.map(({ file, text }) => [file, text]))
    const problems = HOOKS.flatMap(({ package: name, part, files }) => {
      const texts = files.map((file) => [file, textOf.get(file)])
      return [
        ...texts.filter(([, text]) => text === undefined).map(([file]) => `${name}: there is no ${file}`),
        ...quoted(part)
          .filter((one) => !texts.some(([, text]) => text?.includes(words(one).at(-1) ?? '')))
          .map((one) => `${name}: \`${one}\` is not in ${files.join(', ')}`),
        ...texts
          .filter(([, text]) => text !== undefined && !quoted(part).some((one) => text.includes(words(one).at(-1) ?? '')))
          .map(([file]) => `${name}: ${file} uses nothing of ${part}`)
      ]
    })
    assert.deepEqual(problems, [])
  })

  for (const [what, text] of Object.entries({
    'an underscored name': 'conn._secret()',
    'a renamed one': 'const { _secret: known } = conn',
    'one in an option': 'listen({ _secret: 1 })',
    'an override': 'class Own extends Stock { _secret () {} }',
    'a prototype': 'Socket.prototype.secret = 1',
    'a prototype by its object': 'const { secret } = Object.getPrototypeOf(adapter)',
    'a symbol': 'Object.getOwnPropertySymbols(kafka)',
    'a file of a package': 'require("kafkajs/src/secret")',
    'a file beside an entry': 'createRequire(entry)("./secret.js")',
    'a loaded module': 'require.cache[path].exports = 1'
  }))
    test(`finds a missing entry for ${what}`, () => {
      assert.equal(unlisted({ file: 'src/elsewhere.js', text }).length, 1)
    })

  test('allows own code', () => {
    const text = 'class Own {}\nOwn.prototype.x = 1\nconst f = (_req, _) => Object.prototype.hasOwnProperty\nf.x_ = 1'
    assert.deepEqual(unlisted({ file: 'src/elsewhere.js', text }), [])
  })
})
