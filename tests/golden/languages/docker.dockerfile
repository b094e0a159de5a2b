# build
FROM node:20 AS build
ARG VERSION=1
ENV FOO=bar BAZ=qux
RUN npm ci \
  && npm run build
FROM nginx
COPY --from=build /a /b
EXPOSE 80
CMD ["x"]
