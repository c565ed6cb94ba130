// Command comment renders a Markdown comment as a pull request shows it: Markdown comes in,
// a page of HTML goes out. The first group of details is open.
package main

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer/html"
)

const page = `<!DOCTYPE html><meta charset="utf-8"><title>comment</title><style>
body{font:14px/1.5 -apple-system,"Segoe UI","DejaVu Sans",sans-serif;color:#1f2328;margin:24px;background:#fff}
.box{border:1px solid #d1d9e0;border-radius:6px;max-width:920px}
.head{background:#f6f8fa;border-bottom:1px solid #d1d9e0;padding:8px 16px;color:#59636e}
.body{padding:16px}
h3{margin:0 0 16px;font-size:1.25em}
table{border-collapse:collapse;margin-bottom:16px}
th,td{border:1px solid #d1d9e0;padding:6px 13px;text-align:left}
tr:nth-child(even){background:#f6f8fa}
pre{background:#f6f8fa;padding:12px;border-radius:6px;overflow:auto;font-size:85%%}
code{font-family:"DejaVu Sans Mono",monospace;background:#f6f8fa;font-size:85%%}
details{margin-bottom:8px}
</style><div class="box"><div class="head"><b>github-actions</b> commented</div><div class="body">%s</div></div>
`

func main() {
	text, err := io.ReadAll(os.Stdin)
	if err == nil {
		err = render(os.Stdout, text)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func render(out io.Writer, text []byte) error {
	var body bytes.Buffer
	markdown := goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithRendererOptions(html.WithUnsafe(), html.WithHardWraps()))
	if err := markdown.Convert(text, &body); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, page, bytes.Replace(body.Bytes(), []byte("<details>"), []byte("<details open>"), 1))
	return err
}
