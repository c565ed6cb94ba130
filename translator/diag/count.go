package diag

import (
	"fmt"
	"strings"
)

// Counted returns a number with its noun: "1 error", "2 errors", "3 classes".
func Counted(n int, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case strings.HasSuffix(noun, "ss"):
		return fmt.Sprintf("%d %ses", n, noun)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
