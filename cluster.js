#!/usr/bin/env node
const args = process.argv.slice(2)
// as in production: the launcher keeps nothing of the other commands in memory
if (args.length === 0) await (await import('./src/operate/cli/start.js')).startAlone()
else await (await import('./src/operate/cli/program.js')).run(args)
