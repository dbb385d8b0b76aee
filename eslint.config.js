import js from '@eslint/js'
import stylistic from '@stylistic/eslint-plugin'
import globals from 'globals'

export default [
  { ignores: ['node_modules/', 'test/output/', 'client/dist/'] },
  js.configs.recommended,
  stylistic.configs.customize({ indent: 2, quotes: 'single', semi: false, braceStyle: '1tbs', commaDangle: 'never', arrowParens: true }),
  {
    languageOptions: { ecmaVersion: 2024, sourceType: 'module', globals: globals.node },
    rules: {
      'no-unused-vars': ['error', { argsIgnorePattern: '^_', caughtErrors: 'none' }],
      'no-var': 'error',
      'prefer-const': 'error',
      eqeqeq: ['error', 'smart'],
      'no-empty': ['error', { allowEmptyCatch: true }],
      'no-restricted-properties': ['error', { object: 'process', property: 'env', message: 'the environment is read in config/load.js only' }],
      'max-lines': ['error', 400],
      '@stylistic/max-len': ['error', { code: 190, ignoreStrings: true, ignoreTemplateLiterals: true, ignoreUrls: true, ignoreRegExpLiterals: true }],
      '@stylistic/space-before-function-paren': ['error', 'always'],
      '@stylistic/max-statements-per-line': 'off',
      '@stylistic/multiline-ternary': 'off',
      '@stylistic/operator-linebreak': 'off',
      // its fix removes type casts
      '@stylistic/array-bracket-spacing': 'off',
      '@stylistic/quote-props': 'off',
      '@stylistic/rest-spread-spacing': 'off'
    }
  },
  { files: ['src/config/load.js', 'src/launcher/**', 'cluster.js', 'test/**', 'scripts/**', 'bench/**', 'examples/**', '*.config.js'], rules: { 'no-restricted-properties': 'off' } },
  { files: ['src/demo/page/**', 'client/**'], languageOptions: { globals: globals.browser } },
  { files: ['**/*.cjs'], languageOptions: { sourceType: 'commonjs', globals: globals.node } }
]
