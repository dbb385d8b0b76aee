import { join } from 'node:path'
import { testReact } from '../browser/react/suite.js'
import { installIn, NoRegistry } from '../helpers/tarballs.js'

testReact('18', {
  async install (suite) {
    try {
      const { folder } = await installIn(suite, { react: '18.3.1', 'react-dom': '18.3.1' })
      return Object.fromEntries(['react', 'react-dom'].map((name) => [name, join(folder, 'node_modules', name)]))
    } catch (error) {
      if (error instanceof NoRegistry) return null
      throw error
    }
  }
})
