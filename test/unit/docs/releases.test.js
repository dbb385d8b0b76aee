import assert from 'node:assert/strict'
import { readFileSync, readdirSync } from 'node:fs'
import { describe, test } from 'node:test'

const ROOT = new URL('../../../', import.meta.url)
const read = (/** @type {string} */ path) => readFileSync(new URL(path, ROOT), 'utf8')
const { version, engines, dependencies, devDependencies } = JSON.parse(read('package.json'))
const releases = read('docs/releases.md')

describe('release notes', () => {
  test('begin with the version of the package, which the upgrade notes have as well', () => {
    const [newest] = [...releases.matchAll(/^## (\d+\.\d+\.\d+)$/gm)].map(([, one]) => one)
    assert.equal(newest, version)
    assert.match(read('docs/upgrade.md'), new RegExp(`^## ${version.replaceAll('.', '\\.')}$`, 'm'))
  })

  test('fit the changelog: the version has a section, and both or none say that it is not released yet', () => {
    const [notes, changes] = [releases, read('CHANGELOG.md')].map((page) => page.split(`\n## ${version}\n`)[1])
    assert.ok(changes, `CHANGELOG.md has no section ${version}`)
    const isUnreleased = (/** @type {string} */ section) => /^\nNot released yet\.\n/.test(section)
    assert.equal(isUnreleased(changes), isUnreleased(notes))
  })

  test('name the versions that are supported and tested', () => {
    const least = engines.node.replace('>=', '')
    assert.ok(releases.includes(`| ${least} or later |`))
    const client = { ...dependencies, ...devDependencies }['socket.io-client'].replace(/\.\d+$/, '')
    assert.ok(releases.includes(`| 4, protocol 5 | ${client},`))
    assert.match(read('SECURITY.md'), new RegExp(`^\\| ${version.replace(/\.\d+$/, '.x')} \\| all \\|$`, 'm'))
    const chart = read('test/process/deploy/chart.test.js')
    for (const [kubernetes] of releases.matchAll(/(?<=schemas of .*)\b1\.\d\d\b/g)) assert.ok(chart.includes(`'${kubernetes}'`))
  })

  test('of all packages have the same version, and need it of each other', () => {
    // that of Python: test/process/publish/python-publisher.test.js
    const folders = readdirSync(new URL('packages/', ROOT)).filter((one) => one !== 'python').map((one) => `packages/${one}`)
    for (const name of ['.', 'client', ...folders]) {
      const { version: own, dependencies, optionalDependencies, peerDependencies } = JSON.parse(read(`${name}/package.json`))
      assert.equal(own, version, name)
      const needed = Object.entries({ ...dependencies, ...optionalDependencies, ...peerDependencies })
      for (const [other, range] of needed) if (/^inkcast(-|$)/.test(other)) assert.equal(range.replace('^', ''), version, `${other} in ${name}`)
    }
  })
})

test('the badges of the README are true', () => {
  const badges = [...read('README.md').matchAll(/img\.shields\.io\/badge\/([^)]+)-[0-9a-f]{6}\)/g)].map(([,
    text]) => decodeURIComponent(text))
  const [client] = dependencies['socket.io-client'].split('.')
  assert.deepEqual(badges, [`node-${engines.node}`, `license-${JSON.parse(read('package.json')).license}`, `socket.io--client-${client}`])
})

test('the links of SECURITY.md have a target', () => {
  for (const [, link] of read('SECURITY.md').matchAll(/\]\(([^)#]+)/g)) read(link)
})
