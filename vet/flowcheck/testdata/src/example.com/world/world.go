package world

import (
	"bufio"
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/loomwork/loom"
)

var files embed.FS

type deps struct {
	db     *sql.DB
	client *http.Client
	log    io.Writer
}

func (d *deps) env(ctx loom.Context, _ int) (int, error) {
	_ = os.Getenv("HOME")    // want `^os.Getenv depends on the process and its machine: do it in an effect, loom.Do \(loom:env\)$`
	_, _ = os.LookupEnv("X") // want `loom:env`
	_ = len(os.Args)         // want `os.Args .*loom:env`
	_, _ = os.Hostname()     // want `loom:env`
	_ = os.Getpid()          // want `loom:env`
	_ = runtime.NumCPU()     // want `loom:env`
	_ = runtime.GOOS
	return 0, nil
}

func (d *deps) files(ctx loom.Context, name string) (int, error) {
	_, _ = os.ReadFile(name)       // want `os.ReadFile uses files.*loom:files`
	f, err := os.Open(name)        // want `loom:files`
	_ = os.DirFS(name)             // want `loom:files`
	_, _ = filepath.Glob(name)     // want `loom:files`
	_, _ = f.Read(nil)             // want `os.File.Read uses files`
	_ = bufio.NewScanner(os.Stdin) // want `os.Stdin uses files`
	_, _ = fs.ReadFile(files, "a") // what is embedded does not change
	_ = filepath.Join(name, "a")
	fmt.Println("a line of log")
	fmt.Fprintln(os.Stderr, "another")
	os.Stdout.WriteString("a third")
	return 0, err
}

func (d *deps) network(ctx loom.Context, in string) (int, error) {
	_, _ = http.Get(in)                       // want `http.Get uses the network.*loom:network`
	_, _ = d.client.Do(nil)                   // want `http.Client.Do uses the network`
	_, _ = net.Dial("tcp", in)                // want `loom:network`
	_, _ = net.LookupHost(in)                 // want `loom:network`
	_, _ = d.db.QueryContext(ctx, "SELECT 1") // want `sql.DB.QueryContext uses the network: ask the database in an effect`
	_ = d.db.QueryRow("SELECT 1").Scan()      // want `sql.Row.Scan` `sql.DB.QueryRow`
	_, _ = http.NewRequest("GET", in, nil)
	_ = http.StatusText(404)
	_ = net.ParseIP(in)
	_, _ = url.Parse(in)
	return loom.Do(ctx, "get", func(ctx context.Context) (int, error) {
		res, err := http.Get(in)
		if err != nil {
			return 0, err
		}
		return res.StatusCode, d.db.PingContext(ctx)
	})
}

func (d *deps) process(ctx loom.Context, in string) (int, error) {
	cmd := exec.Command("ls")
	_ = cmd.Run() // want `exec.Cmd.Run controls a process.*loom:process`
	if in == "" {
		os.Exit(1) // want `loom:process`
	}
	return 0, nil
}
