package console

import "testing"

// The quick start is what a newcomer types first.
func TestReadmeShowsWhatCommandsPrint(t *testing.T) { checkConsole(t, "../../README.md") }
