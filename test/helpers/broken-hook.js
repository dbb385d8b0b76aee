/** For `node --import`: breaks a private part (docs/hooks.md), so that the public paths are taken. */
import { breakSendFrame } from './broken-hooks.js'

breakSendFrame()
