#!/usr/bin/env node
import './src/process/start-small.js'

const { run } = await import('./src/cli/program.js')
await run(process.argv.slice(2))
