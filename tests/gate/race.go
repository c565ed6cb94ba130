//go:build race

package gate

const isRaced = true
