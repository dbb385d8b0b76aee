import { runRole } from './operate/roles/role.js'
import { composeIngest } from './operate/roles/ingest.js'

await runRole('ingest', composeIngest)
