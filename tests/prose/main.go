// Command prose checks the language of the repository: comments, string
// literals and declared names of Go and Rego, Markdown, scripts and the
// introduction of txtar files. It reports words and phrases that a reader
// stumbles over, listed in patterns.go with the plain wording to use instead.
//
// Usage, from the top of the repository:
//
//	go run ./tests/prose [DIR or FILE...]
//
// Each finding is one line, "file:line: ...". The exit status is 1 if there are
// findings, and 2 if files cannot be read. Without arguments the whole repository
// is checked, and entries of the allow list that match nothing are findings as well.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: go run ./tests/prose [DIR or FILE...]")
		flag.PrintDefaults()
	}
	flag.Parse()
	status, err := run(flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "prose:", err)
		os.Exit(2)
	}
	os.Exit(status)
}

// run prints the findings below roots and returns the exit status.
func run(roots []string) (int, error) {
	whole := len(roots) == 0
	if whole {
		roots = []string{"."}
	}
	allowed := newAllowList(allowances)
	findings, files, err := check(roots, allowed)
	if err != nil {
		return 0, err
	}
	if files == 0 {
		return 0, fmt.Errorf("no files below %q: the search is broken", roots)
	}
	for _, f := range findings {
		fmt.Println(f)
	}
	var unused []allowance
	if whole {
		unused = allowed.unused()
	}
	for _, a := range unused {
		fmt.Printf("%s: the allow list permits %q here, but the text does not occur\n", a.file, a.text)
	}
	if len(findings)+len(unused) > 0 {
		return 1, nil
	}
	return 0, nil
}
