package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
)

func newPlayground() *cobra.Command {
	var listen, dir string
	cmd := &cobra.Command{
		Use:   "playground",
		Short: "Serve the playground, a cluster in a browser tab",
		Long: `Serve the playground to a browser: an editor, a simulated cluster, and time as a control. The cluster runs in the browser; nothing is sent
anywhere. "go run -C web ." builds the folder in a clone of the repository. Any other web server can serve it as well.`,
		Example: `  go run -C web .
  volsim playground
  volsim playground --dir /srv/playground --listen 127.0.0.1:8080`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt)
			defer stop()
			return servePlayground(ctx, cmd, listen, dir)
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:8737", "address and port; port 0 is any that is free")
	cmd.Flags().StringVar(&dir, "dir", filepath.Join("web", "dist"), "folder of the playground")
	return cmd
}

func servePlayground(ctx context.Context, cmd *cobra.Command, listen, dir string) error {
	if _, err := os.Stat(filepath.Join(dir, "volsim.wasm.zst")); err != nil {
		return fmt.Errorf("%s: contains no playground; build it with: go run -C web . (in a clone of the repository)", dir)
	}
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "open http://%s\n", listener.Addr())
	server := &http.Server{Handler: http.FileServer(http.Dir(dir)), ReadHeaderTimeout: 10 * time.Second}
	context.AfterFunc(ctx, func() { _ = server.Close() }) // nothing is lost
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
