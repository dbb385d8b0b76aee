#!/usr/bin/env node
import { run } from './src/cli/program.js'

await run(process.argv.slice(2))
