#!/usr/bin/env node
import { run } from './src/operate/cli/program.js'

await run(process.argv.slice(2))
