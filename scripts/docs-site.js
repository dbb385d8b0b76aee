#!/usr/bin/env node
/**
 * Builds the site of docs/, which a gateway in development serves at /docs/:
 *
 *   npm run docs:site             builds it; exit code 1 for a dead link
 *   npm run docs:site -- --watch  serves it on a port of its own, and shows each change of a page at once
 */
import { relative } from 'node:path'
import { build, createServer } from 'vitepress'
import { OUTPUT } from './site/config.js'
import { ROOT } from './site/groups.js'

const DOCS = `${ROOT}docs`

if (process.argv.includes('--watch')) {
  const server = await createServer(DOCS, { host: '127.0.0.1' })
  await server.listen()
  server.printUrls()
} else {
  await build(DOCS)
  console.log(`${relative(ROOT, OUTPUT)} is built. "npm start" serves it at http://localhost:3000/docs/`)
}
