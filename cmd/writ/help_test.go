package main

import (
	"bytes"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/writ-policy/writ/cmd/writ/cli"
)

// Help that cannot be written is an error, as another output is.
func TestHelpIntoAFullDisk(t *testing.T) {
	for _, args := range [][]string{{}, {"--help"}, {"help"}, {"help", "check"}, {"check", "--help"}, {"kubernetes"}, {"fleet", "--help"}} {
		var messages bytes.Buffer
		status := run(t.Context(), args, cli.Streams{In: strings.NewReader(""), Out: fullDisk{}, Err: &messages})
		if status != exitUsage || !strings.Contains(messages.String(), "no space left") {
			t.Errorf("writ %s: got status %d, %q", strings.Join(args, " "), status, messages.String())
		}
	}
}

// fullDisk accepts nothing.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// The help of each command fits a terminal, but for command lines, which are to be copied.
func TestHelpFitsATerminal(t *testing.T) {
	var out bytes.Buffer
	commands := 0
	var visit func(*cobra.Command)
	visit = func(cmd *cobra.Command) {
		commands++
		out.Reset()
		cmd.SetOut(&out)
		if err := cmd.Help(); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			line = strings.TrimRight(line, "\n")
			if n := utf8.RuneCountInString(line); n > helpWidth && !strings.Contains(cmd.Example, line) && !strings.Contains(line, cmd.UseLine()) {
				t.Errorf("%s: a line has %d characters: %s", cmd.CommandPath(), n, line)
			}
		}
		for _, below := range cmd.Commands() {
			visit(below)
		}
	}
	visit(newRoot(cli.Streams{}))
	if commands < 20 {
		t.Errorf("found %d commands, which cannot be all", commands)
	}
}
