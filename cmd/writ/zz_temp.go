package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

func reportTo(w io.Writer, format string, r *reading) error {
	for _, d := range r.list {
		fmt.Fprintf(w, "%s:%d:%d: %s[%s]: %s\n", d.File, d.Line, d.Column, d.Severity, d.Code, d.Message)
	}
	return nil
}
func newExplain(s streams) *cobra.Command { return &cobra.Command{Use: "explain"} }
